# SPDX-License-Identifier: Apache-2.0
"""Requests that exclude hosts."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, passing_hosts

NODES = make_nodes("a/1", "a/2", "b/1", "c/1")


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), list(NODES)), (("a/1", "b"), ["a/2", "c/1"]), (("nowhere",), list(NODES)), (("a", "b", "c"), [])],
)
def test_ignored_nodes_and_service_hosts_are_rejected(names, expected):
    assert passing_hosts("IgnoreHostsFilter", NODES, ignore_hosts=names) == expected
