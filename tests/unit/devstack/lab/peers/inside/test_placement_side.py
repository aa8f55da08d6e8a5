# SPDX-License-Identifier: Apache-2.0
"""Providers of flat hosts in Placement's database."""

from tests.unit.devstack.lab.peers.inside import stubs

HOST = {
    "total": {"VCPU": 8, "MEMORY_MB": 100},
    "reserved": {"VCPU": 0, "MEMORY_MB": 10},
    "used": {"VCPU": 3, "MEMORY_MB": 0},
    "cpu_ratio": 2.0,
}


def test_each_host_is_a_root_with_its_amounts(monkeypatch):
    modules = ("webob", "placement.conf", "placement.policy", "placement.db.sqlalchemy.models")
    program = stubs.load(monkeypatch, "placement_side", *modules)
    first, second = (program.flat_provider(number, HOST) for number in range(2))
    assert first["uuid"] != second["uuid"]
    assert (first["root"], first["parent"], first["used"]) == (first["uuid"], None, HOST["used"])
    cpu, memory = first["inventories"]["VCPU"], first["inventories"]["MEMORY_MB"]
    assert (cpu["total"], cpu["allocation_ratio"], cpu["reserved"]) == (8, 2.0, 0)
    assert (memory["max_unit"], memory["allocation_ratio"], memory["reserved"]) == (100, 1.0, 10)
