# SPDX-License-Identifier: Apache-2.0
"""Rejections of hosts without an audit: pending for a limited time, then overdue."""

from dataclasses import replace

import pytest

from rpcapi.resources import transient
from scheduler_svc.core.built_in import DEFAULT_FILTERS
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import LogEntry
from scheduler_svc.core.table.table import HostTable
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import EPOCH, node, request

NODES = {"a/1": node(), "b/1": node({"VCPU": 1, "MEMORY_MB": 16384, "DISK_GB": 200}), "c/1": node()}
CLOSED = dict.fromkeys(("a", "b", "c"), EPOCH - 1)
PENDING, OVERDUE = "not audited in this epoch", "audit overdue"


class TableWithClock:
    """A host table with a settable clock."""

    def __init__(self, **snapshot) -> None:
        self.now = 5000.0
        self.position = 100
        self.table = HostTable(clock=lambda: self.now)
        self.load(opened=CLOSED, **snapshot)

    def load(self, **changed):
        self.table.load(replace(hosts.snapshot(NODES), **changed))

    def apply(self, kind, payload):
        self.position += 1
        self.table.apply(LogEntry(self.position, kind, payload))

    def reasons(self, resources=None):
        with self.table.reading() as view:
            return dict(pipeline.run(pipeline.build(DEFAULT_FILTERS), view, request(resources)).reasons)


@pytest.fixture
def worker():
    """A table with three hosts that were just loaded and are not audited."""
    worker = TableWithClock()
    worker.reasons()
    return worker


def test_only_hosts_that_meet_all_other_conditions_count_as_not_audited(worker):
    assert worker.reasons() == {"not enough VCPU": 1, PENDING: 2}
    assert worker.reasons({"VCPU": 100}) == {"not enough VCPU": 3}
    worker.apply("alive", {"a": False})
    assert worker.reasons() == {"not enough VCPU": 1, transient.JUST_DOWN: 1, PENDING: 1}


def test_dead_host_is_not_transient_and_counts_before_all_other_conditions(worker):
    worker.apply("alive", {"a": False, "b": False})
    assert worker.reasons() == {"not enough VCPU": 1, transient.JUST_DOWN: 1, PENDING: 1}
    worker.now += transient.SECONDS
    assert worker.reasons() == {"service down": 2, OVERDUE: 1}
    worker.load(position=200, opened=CLOSED, alive={"a": False, "b": False, "c": True})
    assert worker.reasons() == {"service down": 2, OVERDUE: 1}


def test_audit_is_overdue_after_a_minute(worker):
    worker.now += transient.SECONDS - 1
    worker.apply("opened", {"c": EPOCH})
    assert worker.reasons() == {"not enough VCPU": 1, PENDING: 1}
    worker.now += 1
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1}
    worker.apply("opened", {"a": EPOCH})
    assert worker.reasons() == {"not enough VCPU": 1}


def test_audit_time_starts_when_a_host_becomes_alive(worker):
    worker.apply("alive", {"a": False})
    worker.now += transient.SECONDS
    assert worker.reasons() == {"service down": 1, "not enough VCPU": 1, OVERDUE: 1}
    worker.apply("alive", {"a": True})
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1, PENDING: 1}
    worker.now += transient.SECONDS
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 2}


@pytest.mark.parametrize("source", ["from a snapshot", "from the log"])
def test_new_epoch_restarts_the_audit_time(worker, source):
    worker.now += transient.SECONDS
    assert OVERDUE in worker.reasons()
    if source == "from the log":
        worker.apply("epoch", EPOCH + 1)
    else:
        worker.load(epoch=EPOCH + 1, position=200)
    assert worker.reasons() == {"not enough VCPU": 1, PENDING: 2}


def test_reload_in_the_same_epoch_keeps_the_audit_time(worker):
    worker.now += transient.SECONDS
    worker.apply("opened", {"c": EPOCH})
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1}
    # One host is overdue, and one is found to be closed only now
    worker.load(position=200, opened=CLOSED)
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1, PENDING: 1}
    worker.now += transient.SECONDS - 1
    worker.load(position=300, opened=CLOSED)
    worker.now += 1
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 2}


def test_new_node_has_the_audit_state_of_its_service_host(worker):
    worker.apply("provider", {"a/2": hosts.provider("a/2", node())})
    assert worker.reasons() == {"not enough VCPU": 1, PENDING: 3}
    worker.now += transient.SECONDS
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 3}
