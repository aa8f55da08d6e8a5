# SPDX-License-Identifier: Apache-2.0
"""Rows of Placement's database."""

import uuid

import pytest

from tests.unit.devstack.lab.peers.inside import stubs

HOST = {
    "name": "h",
    "total": {"VCPU": 8, "MEMORY_MB": 100},
    "reserved": {"VCPU": 0, "MEMORY_MB": 10},
    "used": {"VCPU": 3, "MEMORY_MB": 0},
    "cpu_ratio": 2.0,
}


@pytest.fixture
def program(monkeypatch):
    module = stubs.load(
        monkeypatch, "placement_side", "webob", "placement.conf", "placement.policy", "placement.db.sqlalchemy.models"
    )
    for name in ("ResourceProvider", "Consumer", "Inventory", "Allocation"):
        setattr(module.models, name, lambda kind=name, **values: stubs.record(kind=kind, **values))
    return module


def test_each_host_is_its_own_root(program):
    rows = list(program._providers([HOST, HOST], ["u1", "u2"]))
    assert [(row.id, row.uuid, row.root_provider_id) for row in rows] == [(1, "u1", 1), (2, "u2", 2)]


def test_one_consumer_holds_what_is_in_use(program):
    rows = list(program._holdings(4, HOST, {"VCPU": 0, "MEMORY_MB": 1}))
    (consumer,) = (row for row in rows if row.kind == "Consumer")
    assert consumer.uuid == str(uuid.UUID(int=5, version=5))
    inventories = {row.resource_class_id: row for row in rows if row.kind == "Inventory"}
    assert (inventories[0].total, inventories[0].allocation_ratio, inventories[1].allocation_ratio) == (8, 2.0, 1.0)
    assert inventories[1].reserved == 10
    allocations = [row for row in rows if row.kind == "Allocation"]
    assert [(row.resource_provider_id, row.resource_class_id, row.used) for row in allocations] == [(5, 0, 3)]
