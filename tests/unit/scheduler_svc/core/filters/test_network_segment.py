# SPDX-License-Identifier: Apache-2.0
"""Ports on physical networks and segments."""

import pytest

from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, make_table, passing_hosts, run_filter

NODES = make_nodes("a/1", "a/2", "b/1")
NETWORK = {
    "network": {
        "a": {"physnets": ["p1", "p2"], "segments": ["s1"]},
        "b": {"physnets": ["p2"], "segments": ["s2"]},
        "a/2": {"physnets": ["p1"]},
    }
}


@pytest.mark.parametrize(
    ("ports", "expected"),
    [
        ((), list(NODES)),
        (({},), list(NODES)),
        (({"physnet": "p1"},), ["a/1", "a/2"]),
        (({"physnet": "p2"},), ["a/1", "b/1"]),
        (({"physnet": "p2", "segment": "s2"},), ["b/1"]),
        (({"segment": "p1"},), []),
        (({"physnet": "p1"}, {"physnet": "p2"}), ["a/1"]),
    ],
)
def test_ports_require_their_network_and_segment(ports, expected):
    assert passing_hosts("NetworkSegmentFilter", NODES, documents=NETWORK, ports=ports) == expected


def test_each_network_has_its_own_reason():
    table = make_table("NetworkSegmentFilter", NODES, documents=NETWORK)
    ports = ({"physnet": "p1", "segment": "s1"}, {"physnet": "p1"})
    reasons = {"not on physical network p1": 1, "not on segment s1": 1}
    assert run_filter("NetworkSegmentFilter", table, ports=ports) == (["a/1"], reasons)
