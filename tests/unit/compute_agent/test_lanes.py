# SPDX-License-Identifier: Apache-2.0
"""Lanes: in order within one, side by side across them, on a bounded number of threads."""

import functools
import threading
from collections.abc import Iterator

import pytest

from compute_agent.lanes import Lanes, MortalLane

PATIENCE = 20.0


@pytest.fixture
def lanes() -> Iterator[Lanes]:
    lanes = Lanes("test", 4)
    yield lanes
    lanes.close()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("test-")]


def test_jobs_of_a_lane_are_done_in_order_and_never_two_at_once(lanes: Lanes) -> None:
    lane, done, busy = lanes.lane(), [], threading.Lock()

    def job(number: int) -> None:
        assert busy.acquire(blocking=False)
        done.append(number)
        busy.release()

    for number in range(500):
        lane.submit(functools.partial(job, number))
    lanes.close()
    assert done == list(range(500))


def test_a_lane_that_waits_does_not_hold_others_up(lanes: Lanes) -> None:
    go, passed = threading.Event(), threading.Event()
    lanes.lane().submit(lambda: go.wait(PATIENCE))
    lanes.lane().submit(passed.set)
    assert passed.wait(PATIENCE)
    go.set()


def test_as_many_lanes_run_at_once_as_there_are_threads_and_no_more(lanes: Lanes) -> None:
    together, go = threading.Semaphore(0), threading.Event()

    def job() -> None:
        together.release()
        go.wait(PATIENCE)

    for _ in range(300):
        lanes.lane().submit(job)
    assert all(together.acquire(timeout=PATIENCE) for _ in range(4))
    assert not together.acquire(timeout=0.05)
    assert len(threads()) == 4
    go.set()
    assert all(together.acquire(timeout=PATIENCE) for _ in range(296))


def test_threads_come_as_they_are_needed(lanes: Lanes) -> None:
    done = threading.Event()
    lanes.lane().submit(done.set)
    assert done.wait(PATIENCE)
    assert len(threads()) == 1


def test_a_job_that_fails_does_not_end_its_lane(lanes: Lanes) -> None:
    lane, done = lanes.lane(), threading.Event()
    lane.submit(lambda: 1 / 0)
    lane.submit(done.set)
    assert done.wait(PATIENCE)


def test_timers_fire_in_the_order_of_their_time_and_not_when_cancelled(lanes: Lanes) -> None:
    lane, fired, last = lanes.lane(), [], threading.Event()
    lane.after(0.10, last.set)
    lane.after(0.05, lambda: fired.append("second"))
    lane.after(0.01, lambda: fired.append("first"))
    lane.after(0.03, lambda: fired.append("never")).cancel()
    assert last.wait(PATIENCE)
    assert fired == ["first", "second"]


def test_hundreds_of_timers_need_one_thread(lanes: Lanes) -> None:
    fired = threading.Semaphore(0)
    for number in range(300):
        lanes.lane().after(number / 10_000, fired.release)
    assert all(fired.acquire(timeout=PATIENCE) for _ in range(300))
    assert len(threads()) <= 5


def test_closing_does_what_waits_and_what_that_leads_to_but_no_timer() -> None:
    lanes = Lanes("test", 2)
    lane, done, go = lanes.lane(), [], threading.Event()
    lane.submit(lambda: go.wait(PATIENCE))
    lane.submit(lambda: lane.submit(lambda: done.append("follow-up")))
    lane.after(3600, lambda: done.append("timer"))
    closing = threading.Thread(target=lanes.close)
    closing.start()
    go.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert done == ["follow-up"]
    lane.submit(lambda: done.append("late"))
    assert done == ["follow-up"]
    assert threads() == []


def test_one_who_ends_does_no_more_jobs_in_a_lane_that_others_share(lanes: Lanes) -> None:
    shared, done, last = lanes.lane(), [], threading.Event()
    first, second = MortalLane(shared), MortalLane(shared)

    def end_itself() -> None:
        first.end()
        done.append("goes on")

    first.submit(lambda: done.append("one"))
    first.submit(end_itself)
    first.submit(lambda: done.append("never"))
    first.after(0.01, lambda: done.append("never either"))
    second.after(0.05, last.set)
    second.submit(lambda: done.append("two"))
    assert last.wait(PATIENCE)
    assert done == ["one", "goes on", "two"]


def test_closing_may_drop_what_waits() -> None:
    lanes = Lanes("test", 1)
    done, begun, go = [], threading.Event(), threading.Event()
    lanes.lane().submit(lambda: begun.set() or go.wait(PATIENCE))  # type: ignore[func-returns-value]
    assert begun.wait(PATIENCE)
    lanes.lane().submit(lambda: done.append("dropped"))
    closing = threading.Thread(target=lambda: lanes.close(drop=True))
    closing.start()
    go.set()
    closing.join(PATIENCE)
    assert done == []
