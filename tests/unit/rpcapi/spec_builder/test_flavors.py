# SPDX-License-Identifier: Apache-2.0
"""Flavors: lookup by name, and the built-in ones."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import flavors
from rpcapi.spec_builder.builder import build_spec


@pytest.mark.parametrize("built_in", flavors.BUILT_IN.values(), ids=lambda built_in: built_in.name)
def test_built_in_flavor_requests_its_amounts(built_in):
    spec = build_spec(built_in, availability_zone="az1")
    assert spec.resources == {"VCPU": built_in.vcpus, "MEMORY_MB": built_in.memory_mb, "DISK_GB": built_in.disk_gb}
    assert (spec.flavor, spec.availability_zone) == (built_in.name, "az1")


def test_flavor_is_found_by_name():
    assert flavors.find(flavors.BUILT_IN, "m1.small").memory_mb == 2048


def test_unknown_flavor_error_lists_the_known_flavors():
    with pytest.raises(errors.UnknownFlavor, match=r"'m1\.smal'; known: m1\.large, m1\.medium"):
        flavors.find(flavors.BUILT_IN, "m1.smal")
