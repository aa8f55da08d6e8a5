# SPDX-License-Identifier: Apache-2.0
"""Hosts and requests of the comparisons, and gantt's side."""

from devstack.lab import hosts
from devstack.lab.decide import MIX
from devstack.lab.peers.command import LIMIT, MAX_LOAD, REQUIRED_FREE, PeerWorkload, candidates_subject


def test_peers_get_the_same_hosts_with_usage_below_the_load():
    workload = PeerWorkload(60)
    nodes, nova_hosts, providers = workload.nodes, workload.nova_hosts(), workload.providers()
    assert [host["name"] for host in nova_hosts] == [name.replace("/", "-") for name in nodes]
    claimable = []
    for host, provider, node in zip(nova_hosts, providers, nodes.values(), strict=True):
        capacities = {name: unit["capacity"] for name, unit in node["inventories"].items()}
        assert all(host["used"][name] <= MAX_LOAD * capacities[name] for name in capacities)
        assert host["total"] == {name: unit["total"] for name, unit in node["inventories"].items()}
        assert (provider["root"], provider["parent"], provider["used"]) == (provider["uuid"], None, host["used"])
        assert provider["inventories"]["VCPU"]["allocation_ratio"] == host["cpu_ratio"]
        assert provider["inventories"]["MEMORY_MB"]["reserved"] == node["inventories"]["MEMORY_MB"]["reserved"] > 0
        free = {name: capacities[name] - host["used"][name] for name in capacities}
        if all(free[name] >= amount for name, amount in REQUIRED_FREE.items()):
            claimable.append(provider["uuid"])
    assert 0 < len(claimable) < len(providers)
    assert workload.claimable() == claimable
    assert (workload.nova_hosts(), workload.providers()) == (nova_hosts, providers)


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
