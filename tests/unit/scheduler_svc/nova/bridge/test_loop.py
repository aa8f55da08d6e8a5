# SPDX-License-Identifier: Apache-2.0
"""When passes are made, and by whom."""

import pytest
from sqlalchemy.exc import OperationalError

from rpcapi import errors
from scheduler_svc.nova.bridge import signals
from scheduler_svc.nova.bridge.loop import BridgeLoop
from scheduler_svc.store.lease import DocumentLease
from scheduler_svc.store.memory import MemoryStore

LEASE = 16.0
INTERVALS = {"interval_s": 5.0, "full_interval_s": 600.0}
AWAY = OperationalError("SELECT secret", {}, Exception("gone"))


class RecordingBridge:
    """Records passes; fails with the next of ``failures``."""

    def __init__(self):
        self.calls = []
        self.failures = []

    def take_over(self):
        self.calls.append("take over")

    def run_pass(self, *, everything):
        if self.failures:
            raise self.failures.pop(0)
        self.calls.append("everything" if everything else "changes")
        return 0


class LoopBench:
    """Loops over one store, on a clock that the test advances."""

    def __init__(self):
        self.now = 0.0
        self.store = MemoryStore("default", namespaces=[signals.NAMESPACE])
        self.bridge = RecordingBridge()
        self.questions = 0
        self.loop = self.make_loop("first", self.bridge)

    def count_question(self):
        self.questions += 1

    def make_loop(self, owner, bridge):
        lease = DocumentLease(self.store, signals.LEASE, owner, LEASE, lambda: self.now)
        return BridgeLoop(bridge, self.count_question, lease, self.store, **INTERVALS, clock=lambda: self.now)

    def run(self, seconds=0.0, loop=None):
        """Run a loop once after ``seconds``; return what the bridge did, or the failure."""
        self.now += seconds
        loop, self.bridge.calls = loop or self.loop, []
        try:
            loop.run_once()
        except Exception as error:
            loop.handle_failure(error)
            return error
        return self.bridge.calls


@pytest.fixture
def bench():
    return LoopBench()


def test_first_pass_reads_everything_and_later_ones_at_their_intervals(bench):
    assert bench.run() == ["take over", "everything"]
    assert bench.run(4.9) == []
    assert bench.run(0.1) == ["changes"]
    assert bench.run(5) == ["changes"]
    while bench.now < 595:
        assert bench.run(5) == ["changes"]
    assert bench.run(5) == ["take over", "everything"]
    assert bench.run(5) == ["changes"]


def test_request_is_served_at_once_and_only_once(bench):
    bench.run()
    signals.request_reading(bench.store)
    assert bench.run(0.25) == ["changes"]
    assert bench.run(0.25) == []
    signals.request_reading(bench.store)
    signals.request_reading(bench.store)
    assert bench.run(0.25) == ["changes"]
    assert bench.run(0.25) == []


def test_request_remains_until_a_pass_succeeds(bench):
    bench.run()
    signals.request_reading(bench.store)
    bench.bridge.failures = [AWAY]
    assert bench.run(0.25) is AWAY
    assert bench.run(0.25) == ["take over", "everything"]


def test_concurrent_requests_are_one(bench, monkeypatch):
    monkeypatch.setattr(signals, "reading_requests", lambda store: 0)
    signals.request_reading(bench.store)
    signals.request_reading(bench.store)
    monkeypatch.undo()
    assert signals.reading_requests(bench.store) > 0


def test_failure_is_logged_once_without_the_statement_and_everything_is_read_after_it(bench, caplog):
    bench.run()
    bench.bridge.failures = [AWAY, AWAY]
    assert bench.run(5) is AWAY
    assert bench.run(1) is AWAY
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1 and "gone" in warnings[0] and "secret" not in warnings[0]
    assert bench.run(1) == ["take over", "everything"]
    bench.bridge.failures = [AWAY]
    bench.run(5)
    assert [record.levelname for record in caplog.records].count("WARNING") == 2


def test_second_bridge_waits_until_the_first_stops(bench):
    second = bench.make_loop("second", bench.bridge)
    bench.run()
    assert bench.run(1, second) == []
    bench.loop.finish()
    assert bench.run(1, second) == ["take over", "everything"]
    assert bench.run(1) == []


def test_second_bridge_takes_over_from_one_that_is_dead_and_the_first_writes_no_more(bench):
    second = bench.make_loop("second", bench.bridge)
    bench.run()
    assert bench.run(1, second) == []
    assert bench.run(LEASE - 1, second) == []
    assert bench.run(1, second) == ["take over", "everything"]
    assert type(bench.run()).__name__ == "DocumentLeaseLost"
    assert bench.run() == []
    second.finish()
    assert bench.run() == ["take over", "everything"]


def test_conflict_of_a_write_makes_the_bridge_stand_by_until_the_lease_is_free(bench):
    bench.run()
    conflict = errors.VersionConflict(what="x", version=2, expected=1)
    bench.bridge.failures = [conflict]
    assert bench.run(5) is conflict
    assert bench.run(1) == ["take over", "everything"], "it has the lease itself"


def test_lease_is_renewed_between_passes(bench):
    second = bench.make_loop("second", bench.bridge)
    bench.run()
    for _ in range(100):
        assert bench.run(1) in ([], ["changes"])
        assert bench.run(0, second) == []


def test_only_the_bridge_with_the_lease_answers(bench):
    second = bench.make_loop("second", bench.bridge)
    bench.run()
    bench.run(1, second)
    assert bench.questions == 1
