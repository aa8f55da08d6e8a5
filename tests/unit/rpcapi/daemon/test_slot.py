# SPDX-License-Identifier: Apache-2.0
"""Respawning of dead workers and detection of hung ones."""

import itertools
import os
import signal

import pytest

from rpcapi.daemon import process, slot, worker
from rpcapi.daemon.slot import Slot


@pytest.fixture
def worker_slot() -> Slot:
    return Slot(worker.WorkerRole("worker 0", 0, lambda conf: None, lambda conf: pytest.fail("nothing is loaded here")))


def die(worker_slot: Slot, now: float, serving_seconds: float = 0.0) -> float:
    """Spawn a worker at ``now`` that serves for ``serving_seconds`` and dies; return the pause before the next."""
    worker_slot.spawn(now, lambda channel_fd: 1)
    os.waitpid(worker_slot.pid, 0)
    worker_slot.serving = serving_seconds > 0
    worker_slot.clear(now + serving_seconds)
    return worker_slot.spawn_at - now - serving_seconds


def test_pause_doubles_with_each_death_up_to_a_limit(worker_slot: Slot) -> None:
    pauses = [die(worker_slot, now=float(n)) for n in range(9)]

    assert pauses == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_stable_worker_is_respawned_at_once(worker_slot: Slot) -> None:
    for n in range(4):
        die(worker_slot, now=float(n))

    assert die(worker_slot, now=10.0, serving_seconds=slot.STABLE_AFTER + 1) == 0.0
    assert die(worker_slot, now=30.0) == 0.5


def test_failed_fork_is_retried_after_a_pause(worker_slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(child: object) -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(process, "fork", fail)

    pauses = []
    for now in itertools.islice(itertools.count(100.0), 3):
        worker_slot.spawn(now, lambda channel_fd: 0)
        pauses.append(worker_slot.spawn_at - now)

    assert pauses == [0.0, 0.5, 1.0]
    assert (worker_slot.pid, worker_slot.channel) == (0, None)


def test_hang_limit_is_longer_during_the_start(worker_slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    signals: list[signal.Signals] = []
    monkeypatch.setattr(worker_slot, "signal", signals.append)
    worker_slot.pid = 1

    worker_slot.end_if_hung(now=slot.START_LIMIT - 1, limit=3)
    assert signals == []
    worker_slot.end_if_hung(now=slot.START_LIMIT + 1, limit=3)
    assert signals == [signal.SIGABRT]


def test_hung_worker_dumps_its_stacks_and_is_killed(worker_slot: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    signals: list[signal.Signals] = []
    monkeypatch.setattr(worker_slot, "signal", signals.append)
    worker_slot.pid, worker_slot.serving = 1, True

    for now in (2.0, 3.0, 4.0, 3.5 + slot.STACK_DUMP_SECONDS):
        worker_slot.end_if_hung(now, limit=3)

    assert signals == [signal.SIGABRT, signal.SIGKILL]
