# SPDX-License-Identifier: Apache-2.0
"""The computes of lab.sh nova."""

from devstack.lab.nova.hosts import hosts


def test_hosts_are_the_same_for_the_same_numbers():
    assert hosts(2, 4) == hosts(0, 4)[2:]
    assert len({host.uuid for host in hosts(0, 50)}) == len({host.name for host in hosts(0, 50)}) == 50


def test_providers_are_nova_s_own_and_empty():
    provider = hosts(0, 1)[0].provider()
    assert {"OWNER_NOVA", "COMPUTE_NODE"} <= set(provider["traits"])
    assert (provider["parent"], provider["root"], provider["used"]) == (None, provider["uuid"], {})
    assert all(unit["max_unit"] == unit["total"] for unit in provider["inventories"].values())
