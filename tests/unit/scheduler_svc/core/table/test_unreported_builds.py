# SPDX-License-Identifier: Apache-2.0
"""Builds that this worker placed count in the metrics of their hosts until the hosts report."""

import numpy as np
import pytest

from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.unreported_builds import PATIENCE_S
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node

NODES = {"a": node(metrics={"instances": 2, "io_ops": 1, "load": 5}), "b": node(), "c": node(metrics={"io_ops": 3})}
METRICS = ("instances", "io_ops", "load")
READS = {"compute": frozenset(f"metrics.{name}" for name in METRICS)}
REPORTED = [(2, 1, 5), (None, None, None), (None, 3, None)]


class Clock:
    """A clock that the test moves."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def table(clock):
    table = HostTable(reads=READS, clock=clock)
    table.load(hosts.snapshot(NODES))
    return table


def rows(table):
    with table.reading() as view:
        columns = [view.state("compute", f"metrics.{name}") for name in METRICS]
        return [
            tuple(None if np.isnan(column[view.row(name, 0)]) else column[view.row(name, 0)] for column in columns)
            for name in NODES
        ]


def test_builds_count_in_both_metrics_and_no_other(table):
    table.count_builds(["a", "b", "a", "unheard-of"])
    assert rows(table) == [(4, 3, 5), (1, 1, None), (None, 3, None)]


def test_a_report_replaces_what_was_counted(table):
    table.count_builds(["a", "b"])
    report = hosts.provider("a", node(metrics={"instances": 3, "io_ops": 0}))
    table.apply(LogEntry(101, "provider", {"a": report}))
    assert rows(table) == [(3, 0, None), (1, 1, None), (None, 3, None)]
    table.count_builds(["a"])
    assert rows(table)[0] == (4, 1, None)


def test_hosts_that_report_nothing_new_are_believed_after_a_while(table, clock):
    table.count_builds(["a", "c"])
    clock.now += PATIENCE_S / 2
    table.count_builds(["c", "b"])
    clock.now += PATIENCE_S / 2
    assert rows(table) == [REPORTED[0], (1, 1, None), (2, 5, None)]
    clock.now += PATIENCE_S / 2
    assert rows(table) == REPORTED


def test_a_load_takes_back_what_was_counted(table, clock):
    table.count_builds(["a", "b"])
    table.load(hosts.snapshot({**NODES, "b": node(metrics={"io_ops": 7})}))
    loaded = [REPORTED[0], (None, 7, None), REPORTED[2]]
    assert rows(table) == loaded
    clock.now += PATIENCE_S
    assert rows(table) == loaded


def test_a_load_of_another_partition_takes_back_what_was_counted(clock):
    table = HostTable(["p", "q"], READS, clock)
    table.load(hosts.snapshot(NODES), 0)
    table.count_builds(["a"], 0)
    table.load(hosts.snapshot({"d": node()}), 1)
    assert rows(table) == REPORTED


def test_builds_count_nowhere_if_nothing_reads_the_metrics(clock):
    table = HostTable(clock=clock)
    table.load(hosts.snapshot(NODES))
    table.count_builds(NODES)
    with table.reading() as view, pytest.raises(LookupError):
        view.state("compute", "metrics.io_ops")
