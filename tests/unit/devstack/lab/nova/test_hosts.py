# SPDX-License-Identifier: Apache-2.0
"""The computes of lab.sh nova."""

from devstack.lab.nova import hosts


def test_hosts_are_the_same_for_the_same_numbers():
    assert hosts.names(2, 4) == hosts.names(0, 4)[2:]
    providers = [hosts.provider(name) for name in hosts.names(0, 50)]
    assert len({provider["uuid"] for provider in providers}) == 50
    assert hosts.provider("lab0") == providers[0]


def test_providers_are_nova_s_own_and_empty():
    provider = hosts.provider("lab0")
    assert {"OWNER_NOVA", "COMPUTE_NODE"} <= set(provider["traits"])
    assert (provider["parent"], provider["root"], provider["used"]) == (None, provider["uuid"], {})
    assert all(unit["max_unit"] == unit["total"] for unit in provider["inventories"].values())
