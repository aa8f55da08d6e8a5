# SPDX-License-Identifier: Apache-2.0
"""Gauges of hosts by state, and of what hosts and aggregates have and gave away."""

import pytest
from prometheus_client import REGISTRY

from rpcapi.resources.inventory import Inventory
from scheduler_svc import metrics
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.host_state.measurement import MAX_AGGREGATES, HostMeasurement
from scheduler_svc.scheduling import refusals
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import EPOCH, child_provider, node, provider

READS = {"aggregate": frozenset({"hosts", "metadata"})}
NODES = {
    "up/1": node({"VCPU": 8}),
    "up/2": node({"VCPU": 4, "MEMORY_MB": Inventory(1500, reserved=500)}),
    "off": node({"VCPU": 16}),
    "silent": node({"VCPU": 1}),
    "late": node({"VCPU": 2}),
    "old": node({"CUSTOM_TAPE": 1}),
}


def value(name, **labels):
    return REGISTRY.get_sample_value(f"gantt_replica_{name}", labels)


class Replica:
    """A replica of a table that never waits for its store."""

    last_contact_s = 7.5

    def __init__(self, table, number):
        self.unchecked_table, self._number = table, number

    @property
    def host_counts(self):
        return self.unchecked_table.host_counts(self._number)


class Partition:
    def __init__(self, name, replica):
        self.name, self.replica = name, replica


class Partitions(list):
    @property
    def own(self):
        return self[0]


@pytest.fixture
def table():
    table = HostTable(["m", "n"], READS)
    table.load(hosts.snapshot(NODES, {"up/1": {"VCPU": 3}}), 0)
    table.load(hosts.snapshot({"far": node({"CUSTOM_FPGA": 2})}), 1)
    entries = [
        ("service", {"off": {"enabled": False}}),
        ("alive", {"silent": False}),
        ("service", {"old": {"enabled": True, "rpc_versions": {"compute": "0.1"}}}),
        ("opened", {"late": EPOCH - 1}),
        (
            "provider",
            {"up/1/numa0": provider("up/1/numa0", child_provider("up/1", "up/1", {"VCPU": Inventory(34, reserved=2)}))},
        ),
        ("used", {"up/1/numa0": {"VCPU": 5}}),
    ]
    for position, (kind, payload) in enumerate(entries, 101):
        table.apply(LogEntry(position, kind, payload))
    return table


@pytest.fixture
def measurement(table):
    return HostMeasurement(Partitions(Partition(name, Replica(table, number)) for number, name in enumerate("mn")))


def test_hosts_are_counted_by_state(table, measurement):
    table.set_aside(table.partitions[1].find_rows("far"))
    measurement.measure()
    states = ("schedulable", "disabled", "awaiting_audit", "down", "too_old", "set_aside")
    assert [value("hosts", partition="m", state=state) for state in states] == [2, 1, 1, 1, 1, 0]
    assert [value("hosts", partition="n", state=state) for state in states] == [0, 0, 0, 0, 0, 1]
    assert value("silence_seconds", partition="m") == 7.5


def test_capacity_and_usage_are_those_of_hosts_and_the_providers_below_them(measurement):
    measurement.measure()
    assert value("capacity", partition="m", resource_class="VCPU") == 8 + 4 + 16 + 1 + 2 + 32
    assert value("used", partition="m", resource_class="VCPU") == 3 + 5
    assert value("reserved", partition="m", resource_class="VCPU") == 2
    assert value("capacity", partition="m", resource_class="MEMORY_MB") == 1000
    assert value("reserved", partition="m", resource_class="MEMORY_MB") == 500
    assert value("capacity", partition="n", resource_class="CUSTOM_FPGA") == 2
    assert value("capacity", partition="n", resource_class="VCPU") is None


def test_aggregates_are_measured_until_they_are_deleted(table, measurement):
    table.apply(LogEntry(110, "state", {"aggregate": {"rack1": {"hosts": ["up", "off"]}, "rack2": {"hosts": ["far"]}}}))
    measurement.measure()
    assert value("aggregate_capacity", aggregate="rack1", resource_class="VCPU") == 8 + 4 + 16 + 32
    assert value("aggregate_used", aggregate="rack1", resource_class="VCPU") == 3 + 5
    assert value("aggregate_reserved", aggregate="rack1", resource_class="VCPU") == 2
    assert value("aggregate_capacity", aggregate="rack2", resource_class="CUSTOM_FPGA") == 2
    table.apply(LogEntry(111, "state", {"aggregate": {"rack1": None}}))
    measurement.measure()
    assert value("aggregate_capacity", aggregate="rack1", resource_class="VCPU") == 0
    assert value("aggregate_used", aggregate="rack1", resource_class="VCPU") == 0
    assert value("aggregate_reserved", aggregate="rack1", resource_class="VCPU") == 0


def test_the_number_of_aggregates_is_bounded(table, measurement):
    documents = {f"many{number:03}": {"hosts": ["off"]} for number in range(MAX_AGGREGATES + 1)}
    table.apply(LogEntry(110, "state", {"aggregate": documents}))
    measurement.measure()
    labels = {"resource_class": "VCPU"}
    assert value("aggregate_capacity", aggregate=f"many{MAX_AGGREGATES - 1:03}", **labels) == 16
    assert value("aggregate_capacity", aggregate=f"many{MAX_AGGREGATES:03}", **labels) is None


def test_the_number_of_resource_classes_is_bounded(table, monkeypatch):
    monkeypatch.setattr("scheduler_svc.host_state.measurement.MAX_CLASSES", 2)
    only = {"CUSTOM_A1": 1, "CUSTOM_A2": 1, "CUSTOM_A3": 1}
    classes = HostTable(["q"], READS)
    classes.load(hosts.snapshot({"many": node(only)}), 0)
    HostMeasurement(Partitions([Partition("q", Replica(classes, 0))])).measure()
    assert [value("capacity", partition="q", resource_class=name) for name in only] == [1, 1, None]


def test_the_number_of_reasons_is_bounded(monkeypatch):
    monkeypatch.setattr(refusals, "_counted_reasons", set())
    monkeypatch.setattr(refusals, "MAX_COUNTED_REASONS", 2)

    def counted(reason):
        return REGISTRY.get_sample_value("gantt_scheduler_refusals_total", {"reason": reason}) or 0

    others = counted(refusals.OTHER_REASON)
    for _ in range(2):
        refusals.count(refusals.no_valid_host({"bound 1": 4, "bound 2": 1, "bound 3": 4}))
    assert [counted(f"bound {number}") for number in (1, 2, 3)] == [2, 2, 0]
    assert counted(refusals.OTHER_REASON) == others + 2
    assert metrics.REFUSALS._labelnames == ("reason",)
