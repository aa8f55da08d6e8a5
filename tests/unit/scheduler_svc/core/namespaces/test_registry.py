# SPDX-License-Identifier: Apache-2.0
"""All namespaces of a deployment."""

import pytest

from rpcapi import errors
from scheduler_svc.core.namespaces.namespace import Namespace
from scheduler_svc.core.namespaces.registry import NamespaceRegistry

BUILT_IN = (
    *("compute", "service", "aggregate", "volume", "network", "trait", "resource_class", "placement"),
    *("flavor", "image", "server_group"),
)


def test_unknown_namespace_error_lists_known_namespaces():
    with pytest.raises(errors.UnknownNamespace, match="declared: compute, service, aggregate, volume, network"):
        NamespaceRegistry().find("weather")


def test_declared_namespaces_follow_the_built_in_ones():
    rack = Namespace("rack", "rackd")
    registry = NamespaceRegistry([rack])
    assert registry.names == (*BUILT_IN, "rack")
    assert registry.find("rack") is rack


def test_composed_namespaces_are_not_stored_as_written():
    assert NamespaceRegistry([Namespace("rack", "rackd")]).stored_names == (*BUILT_IN[2:], "rack")


@pytest.mark.parametrize("names", [["volume"], ["rack", "rack"]])
def test_duplicate_name_is_refused(names):
    with pytest.raises(ValueError, match=f"namespace '{names[-1]}' already exists"):
        NamespaceRegistry([Namespace(name, "rackd") for name in names])
