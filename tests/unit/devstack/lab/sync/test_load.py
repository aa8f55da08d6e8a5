# SPDX-License-Identifier: Apache-2.0
"""Simulated agents that send reports at a fixed rate."""

from types import SimpleNamespace

import pytest

from devstack.lab import hosts
from devstack.lab.sync import load
from devstack.lab.sync.load import ReportingAgents, ScheduledReports, spread

NODES = spread(2, hosts.make_nodes(8))


class Store:
    def __init__(self):
        self.reports = []

    def update_stats(self, host, report):
        if report.register:
            return SimpleNamespace(position=0, incarnation=7)
        self.reports.append((host, report))
        return SimpleNamespace(position=len(self.reports), incarnation=7)


@pytest.fixture
def clock(monkeypatch):
    clock = SimpleNamespace(now=100.0)

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(load, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
    return clock


def test_nodes_are_renamed_so_that_hosts_have_equal_numbers():
    assert list(NODES) == [f"host{host}/node{node}" for host in range(4) for node in range(2)]
    assert list(NODES.values()) == list(hosts.make_nodes(8).values())


def test_each_host_reports_once_a_minute(clock):
    store = Store()
    times = ReportingAgents(store, NODES).send(ScheduledReports(120, 1.0), lambda: None)
    assert [host for host, _ in store.reports] == ["host0", "host1", "host2", "host3"] * 2
    assert (times.reports, times.position, times.late_s) == (8, 8, 0.0)
    assert [at for _, at in times.sent] == [100.0 + 15 * number for number in range(8)]


def test_reports_are_consecutive_deltas_of_each_host(clock):
    store = Store()
    agents = ReportingAgents(store, NODES)
    for _ in range(2):
        agents.send(ScheduledReports(0, 1.0), lambda: None)
    marks = [(report.base, report.sequence, report.full) for host, report in store.reports if host == "host1"]
    assert marks == [(1, 2, False), (2, 3, False)]
    assert clock.now == 100.0


def test_only_reports_with_changes_are_recorded(clock):
    store, changes = Store(), []
    times = ReportingAgents(store, NODES).send(ScheduledReports(0, 0.0), lambda: changes.append(1))
    assert (times.sent, changes, len(store.reports)) == ([], [], 4)


def test_changed_nodes_reserve_another_amount_of_memory(clock):
    store = Store()
    ReportingAgents(store, NODES).send(ScheduledReports(0, 1.0), lambda: None)
    for _, report in store.reports:
        for name, node in report.nodes.items():
            memory = node["inventories"]["MEMORY_MB"]
            assert 1 <= memory["reserved"] < memory["total"] / 2
            assert node["inventories"]["VCPU"] == NODES[name]["inventories"]["VCPU"]


def test_delay_against_the_schedule_is_reported(clock):
    class SlowStore(Store):
        def update_stats(self, host, report):
            clock.now += 0 if report.register else 20
            return super().update_stats(host, report)

    times = ReportingAgents(SlowStore(), NODES).send(ScheduledReports(60, 1.0), lambda: None)
    assert times.late_s == pytest.approx(3 * 5.0)
