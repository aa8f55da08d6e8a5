# SPDX-License-Identifier: Apache-2.0
"""Racks, pools and networks of simulated hosts."""

import zlib

import pytest

from devstack.publishers import site_topology


def test_a_single_network_reaches_all_hosts():
    assert site_topology.network_document("compute7", 1, 2) == {
        "physnets": ["physnet0"],
        "segments": ["physnet0-rack1"],
    }
    assert site_topology.number_of("gw") == site_topology.number_of("gw/node1")


@pytest.mark.parametrize(("name", "number"), [("host7", 7), ("host7/node3", 7), ("rack2-host11", 11), ("alpha", None)])
def test_number_of_a_host_is_the_last_in_its_name(name, number):
    expected = zlib.crc32(b"alpha") if name == "alpha" else number
    assert site_topology.number_of(name) == expected


def test_hosts_and_pools_are_distributed_over_the_racks():
    assert [site_topology.rack_of(f"host{number}/n", 3) for number in range(4)] == ["rack0", "rack1", "rack2", "rack0"]


def test_pool_serves_its_rack_and_the_next():
    hosts = [f"host{number}/node{node}" for number in range(6) for node in range(2)]
    assert site_topology.hosts_of_pool("pool1", hosts, 3) == ["host1", "host2", "host4", "host5"]
    assert site_topology.hosts_of_pool("pool2", hosts, 3) == ["host0", "host2", "host3", "host5"]
    assert site_topology.hosts_of_pool("pool0", hosts, 1) == [f"host{number}" for number in range(6)]


def test_host_is_on_all_networks_but_one():
    assert [site_topology.physnets_of(f"host{number}", 3) for number in range(3)] == [[1, 2], [0, 2], [0, 1]]
    hosts = [f"host{number}" for number in range(4)]
    assert site_topology.hosts_of_network("net1", hosts, 3) == ["host0", "host2", "host3"]


def test_segments_are_those_of_the_rack():
    assert site_topology.network_document("host1/n", 3, 2) == {
        "physnets": ["physnet0", "physnet2"],
        "segments": ["physnet0-rack1", "physnet2-rack1"],
    }
