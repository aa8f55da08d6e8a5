# SPDX-License-Identifier: Apache-2.0
"""Hosts and requests of the comparisons, and gantt's side."""

from devstack.lab import hosts
from devstack.lab.decide import MIX
from devstack.lab.peers.workload import LIMIT, MAX_LOAD, REQUIRED_FREE, PeerWorkload, candidates_subject


def test_peers_get_the_same_hosts_with_usage_below_the_load():
    workload = PeerWorkload(60)
    nodes, peer_hosts = workload.nodes, workload.peer_hosts()
    assert [host["name"] for host in peer_hosts] == [name.replace("/", "-") for name in nodes]
    for host, node in zip(peer_hosts, nodes.values(), strict=True):
        capacities = {name: unit["capacity"] for name, unit in node["inventories"].items()}
        assert all(host["used"][name] <= MAX_LOAD * capacities[name] for name in capacities)
        free = {name: capacities[name] - host["used"][name] for name in capacities}
        assert host["roomy"] is all(free[name] >= amount for name, amount in REQUIRED_FREE.items())
    assert workload.peer_hosts() == peer_hosts


def test_requests_are_repeatable():
    assert PeerWorkload.peer_requests() == PeerWorkload.peer_requests()
    assert len(PeerWorkload.peer_requests()) == MIX


def test_candidates_are_hosts_with_free_capacity_up_to_the_limit():
    empty = candidates_subject(hosts.table(LIMIT + 50, max_load=0.0))(0)
    assert len(empty) == len(set(empty)) == LIMIT
    full_table = hosts.table(60, max_load=0.0)
    for row in range(60):
        full_table.services.enabled[row] = False
    assert candidates_subject(full_table)(0) == []
