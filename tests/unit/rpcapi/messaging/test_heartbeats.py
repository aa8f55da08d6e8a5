# SPDX-License-Identifier: Apache-2.0
"""Heartbeats go to callers of long calls until these end, and a short call starts no thread."""

import gc
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor

import pytest

from rpcapi.messaging.heartbeats import Heartbeats
from rpcapi.messaging.postponement import MIN_SWEEP
from tests.unit.rpcapi.waiting_calls import wait_until


class Incoming:
    """A received call whose caller gives up after ``client_timeout`` seconds without a heartbeat."""

    def __init__(self, client_timeout: float = 2, error: Exception | None = None) -> None:
        self.client_timeout = client_timeout
        self.beats = 0
        self._error = error

    def heartbeat(self) -> None:
        self.beats += 1
        if self._error is not None:
            raise self._error


def threads(name: str) -> int:
    return sum(thread.name == name for thread in threading.enumerate())


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that are started."""
    names: list[str] = []
    start = threading.Thread.start

    def note(thread: threading.Thread) -> None:
        names.append(thread.name)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", note)
    return names


def test_short_calls_share_one_thread_and_get_no_heartbeats(started: list[str]) -> None:
    sender = Heartbeats()
    calls = [Incoming() for _ in range(200)]
    for call in calls:
        with sender.to_caller_of(call):
            pass
    assert started == ["first heartbeats"]
    assert not any(call.beats for call in calls)
    wait_until(lambda: not sender._timer._due)  # the first one would have been due
    with sender.to_caller_of(calls[0]):
        pass
    assert started == ["first heartbeats"]


def test_thread_ends_where_there_is_no_call_for_a_while_and_begins_again(started: list[str]) -> None:
    sender, call = Heartbeats(linger_s=0.01), Incoming()
    with sender.to_caller_of(Incoming()):
        pass
    wait_until(lambda: not sender._timer._is_waiting)
    with sender.to_caller_of(call):
        wait_until(lambda: call.beats == 1)
    wait_until(lambda: not sender._timer._is_waiting)
    assert started == ["first heartbeats", "first heartbeats", "heartbeats"]


def test_long_call_gets_heartbeats_until_it_ends() -> None:
    sender, call = Heartbeats(), Incoming()
    with sender.to_caller_of(call):
        wait_until(lambda: call.beats == 2)
    beats = call.beats
    assert threads("heartbeats") == 0
    time.sleep(1.2)  # longer than the interval
    assert call.beats == beats


def test_call_with_a_shorter_interval_does_not_wait_for_the_others() -> None:
    sender, patient, hasty = Heartbeats(), Incoming(600), Incoming(2)
    with sender.to_caller_of(patient), sender.to_caller_of(hasty):
        wait_until(lambda: hasty.beats > 0)
    assert patient.beats == 0


def test_concurrent_long_calls_all_get_heartbeats() -> None:
    sender, calls = Heartbeats(), [Incoming() for _ in range(20)]

    def run(call: Incoming) -> None:
        with sender.to_caller_of(call):
            wait_until(lambda: call.beats > 0)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(run, calls))
    assert all(call.beats for call in calls)
    wait_until(lambda: threads("heartbeats") == 0)


def test_heartbeat_that_cannot_be_sent_ends_them_and_not_the_call() -> None:
    sender, call, other = Heartbeats(), Incoming(error=OSError("the bus is away")), Incoming()
    with sender.to_caller_of(call), sender.to_caller_of(other):
        wait_until(lambda: call.beats == 1 and other.beats == 2)
    assert call.beats == 1


@pytest.mark.parametrize("name", ["first heartbeats", "heartbeats"])
def test_call_for_which_no_thread_can_be_started_does_not_stop_the_next(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    sender, unlucky, call, failed = Heartbeats(), Incoming(), Incoming(), threading.Event()
    start = threading.Thread.start

    def fail_once(thread: threading.Thread) -> None:
        if thread.name == name and not failed.is_set():
            failed.set()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fail_once)
    with sender.to_caller_of(unlucky):
        assert failed.wait(20)
        with sender.to_caller_of(call):
            wait_until(lambda: call.beats > 0)
    assert unlucky.beats == 0


def test_calls_that_ended_occupy_no_memory_until_their_first_heartbeat_would_be_due() -> None:
    sender, messages = Heartbeats(), weakref.WeakSet[Incoming]()
    with sender.to_caller_of(Incoming(86400)):
        for _ in range(20 * MIN_SWEEP):
            ended = Incoming(86400)
            messages.add(ended)
            with sender.to_caller_of(ended):
                pass
        del ended
        gc.collect()
        assert not messages
        assert len(sender._timer._due) <= MIN_SWEEP


def test_call_ends_without_the_thread_that_could_not_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    sender, failed = Heartbeats(), threading.Event()
    start = threading.Thread.start

    def fail(thread: threading.Thread) -> None:
        if thread.name != "heartbeats":
            start(thread)
            return
        failed.set()
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", fail)
    with sender.to_caller_of(Incoming()):
        assert failed.wait(20)


def test_error_of_a_call_ends_its_heartbeats() -> None:
    sender, call = Heartbeats(), Incoming()
    with pytest.raises(KeyError), sender.to_caller_of(call):
        raise KeyError
    wait_until(lambda: not sender._timer._due)
    assert call.beats == 0
