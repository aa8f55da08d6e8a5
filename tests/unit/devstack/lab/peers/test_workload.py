# SPDX-License-Identifier: Apache-2.0
"""Hosts and requests of the comparisons."""

from devstack.lab.decide.command import MIX
from devstack.lab.peers.workload import MAX_LOAD, REQUIRED_FREE, PeerWorkload


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
