# SPDX-License-Identifier: Apache-2.0
"""For whose audit a refusal may wait: a living host's that would be right, and has had little time for it."""

from dataclasses import replace

import pytest

from scheduler_svc.conf.filters import DEFAULT_FILTERS
from scheduler_svc.filters import pipeline
from scheduler_svc.store.records import LogEntry
from scheduler_svc.table.services import AUDIT_SECONDS
from scheduler_svc.table.table import HostTable
from tests.unit.scheduler_svc import hosts
from tests.unit.scheduler_svc.hosts import EPOCH, node, request

NODES = {"a/1": node(), "b/1": node({"VCPU": 1, "MEMORY_MB": 16384, "DISK_GB": 200}), "c/1": node()}
CLOSED = dict.fromkeys(("a", "b", "c"), EPOCH - 1)
AWAITED, OVERDUE = "not audited in this epoch", "audit overdue"


class Worker:
    """A worker's table, and the time that it reads."""

    def __init__(self, **snapshot) -> None:
        self.now = 5000.0
        self.at = 100
        self.table = HostTable(clock=lambda: self.now)
        self.load(opened=CLOSED, **snapshot)

    def load(self, **changed):
        self.table.load(replace(hosts.snapshot(NODES), **changed))

    def apply(self, kind, payload):
        self.at += 1
        self.table.apply(LogEntry(self.at, kind, payload))

    def reasons(self, resources=None):
        with self.table.reading() as view:
            return dict(pipeline.run(pipeline.build(DEFAULT_FILTERS), view, request(resources)).reasons)


@pytest.fixture
def worker():
    """A worker that has just loaded three hosts, none of them audited."""
    made = Worker()
    made.reasons()
    return made


def test_only_hosts_that_would_be_right_count_as_not_audited(worker):
    assert worker.reasons() == {"not enough VCPU": 1, AWAITED: 2}
    assert worker.reasons({"VCPU": 100}) == {"not enough VCPU": 3}
    worker.apply("alive", {"a": False})
    assert worker.reasons() == {"service down": 1, "not enough VCPU": 1, AWAITED: 1}


def test_one_that_has_had_its_time_is_awaited_no_longer(worker):
    worker.now += AUDIT_SECONDS - 1
    worker.apply("opened", {"c": EPOCH})
    assert worker.reasons() == {"not enough VCPU": 1, AWAITED: 1}
    worker.now += 1
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1}
    worker.apply("opened", {"a": EPOCH})
    assert worker.reasons() == {"not enough VCPU": 1}


def test_one_that_comes_to_life_is_given_time_from_then_on(worker):
    worker.apply("alive", {"a": False})
    worker.now += AUDIT_SECONDS
    assert worker.reasons() == {"service down": 1, "not enough VCPU": 1, OVERDUE: 1}
    worker.apply("alive", {"a": True})
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1, AWAITED: 1}
    worker.now += AUDIT_SECONDS
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 2}


@pytest.mark.parametrize("known", ["from a snapshot", "from the log"])
def test_a_new_epoch_gives_all_of_them_time(worker, known):
    worker.now += AUDIT_SECONDS
    assert OVERDUE in worker.reasons()
    if known == "from the log":
        worker.apply("epoch", EPOCH + 1)
    else:
        worker.load(epoch=EPOCH + 1, position=200)
    assert worker.reasons() == {"not enough VCPU": 1, AWAITED: 2}


def test_loading_the_same_epoch_anew_gives_no_more_time(worker):
    worker.now += AUDIT_SECONDS
    worker.apply("opened", {"c": EPOCH})
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1}
    # Given one that had its time, and one that is known to be closed only now
    worker.load(position=200, opened=CLOSED)
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 1, AWAITED: 1}
    worker.now += AUDIT_SECONDS - 1
    worker.load(position=300, opened=CLOSED)
    worker.now += 1
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 2}


def test_a_node_that_is_new_is_awaited_as_its_host_is(worker):
    worker.apply("provider", {"a/2": hosts.provider("a/2", node())})
    assert worker.reasons() == {"not enough VCPU": 1, AWAITED: 3}
    worker.now += AUDIT_SECONDS
    assert worker.reasons() == {"not enough VCPU": 1, OVERDUE: 3}
