# SPDX-License-Identifier: Apache-2.0
"""When a worker that died is spawned again."""

import itertools
import os
import signal

import pytest

from rpcapi.daemon import process, slot, worker
from rpcapi.daemon.slot import Slot


@pytest.fixture
def place() -> Slot:
    return Slot(worker.Role("worker 0", 0, lambda conf: None, lambda: pytest.fail("nothing is loaded here")))


def die(place: Slot, now: float, served: float = 0.0) -> float:
    """Let a worker be spawned at ``now``, serve so long, and die; return the pause before the next."""
    place.spawn(now, lambda channel_fd: 1)
    os.waitpid(place.pid, 0)
    place.serving = served > 0
    place.empty(now + served)
    return place.spawn_at - now - served


def test_the_pause_doubles_with_each_death_up_to_a_limit(place: Slot) -> None:
    pauses = [die(place, now=float(n)) for n in range(9)]

    assert pauses == [0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0]


def test_a_worker_that_served_long_is_replaced_at_once(place: Slot) -> None:
    for n in range(4):
        die(place, now=float(n))

    assert die(place, now=10.0, served=slot.STEADY_AFTER + 1) == 0.0
    assert die(place, now=30.0) == 0.5


def test_a_fork_that_fails_is_tried_after_a_pause(place: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(child: object) -> int:
        raise BlockingIOError("Resource temporarily unavailable")

    monkeypatch.setattr(process, "fork", refuse)

    pauses = []
    for now in itertools.islice(itertools.count(100.0), 3):
        place.spawn(now, lambda channel_fd: 0)
        pauses.append(place.spawn_at - now)

    assert pauses == [0.0, 0.5, 1.0]
    assert (place.pid, place.channel) == (0, None)


def test_a_silent_worker_has_longer_while_it_starts(place: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[signal.Signals] = []
    monkeypatch.setattr(place, "signal", sent.append)
    place.pid = 1

    place.end_if_hung(now=slot.START_LIMIT - 1, limit=3)
    assert sent == []
    place.end_if_hung(now=slot.START_LIMIT + 1, limit=3)
    assert sent == [signal.SIGABRT]


def test_a_silent_worker_is_asked_for_its_stacks_then_killed(place: Slot, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[signal.Signals] = []
    monkeypatch.setattr(place, "signal", sent.append)
    place.pid, place.serving = 1, True

    for now in (2.0, 3.0, 4.0, 3.5 + slot.LAST_WORDS):
        place.end_if_hung(now, limit=3)

    assert sent == [signal.SIGABRT, signal.SIGKILL]
