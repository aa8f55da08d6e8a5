# SPDX-License-Identifier: Apache-2.0
"""Requests that force hosts."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = make_nodes("a/1", "a/2", "b/1", "c/1")


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), list(NODES)), (("a/1",), ["a/1"]), (("a", "c/1"), ["a/1", "a/2", "c/1"]), (("nowhere",), [])],
)
def test_only_forced_nodes_and_service_hosts_are_accepted(names, expected):
    assert passing_hosts("ForceHostsFilter", NODES, force_hosts=names) == expected
