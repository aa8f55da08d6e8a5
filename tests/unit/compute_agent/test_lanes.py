# SPDX-License-Identifier: Apache-2.0
"""Lanes: in order within one, side by side across them, on a bounded number of threads."""

import functools
import threading
from collections.abc import Iterator

import pytest

from compute_agent.lanes import CancellableQueue, SerialQueuePool

PATIENCE = 20.0


@pytest.fixture
def queue_pool() -> Iterator[SerialQueuePool]:
    queue_pool = SerialQueuePool("test", 4)
    yield queue_pool
    queue_pool.close()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("test-")]


def test_jobs_of_a_lane_are_done_in_order_and_never_two_at_once(queue_pool: SerialQueuePool) -> None:
    queue, done, busy = queue_pool.new_queue(), [], threading.Lock()

    def job(number: int) -> None:
        assert busy.acquire(blocking=False)
        done.append(number)
        busy.release()

    for number in range(500):
        queue.submit(functools.partial(job, number))
    queue_pool.close()
    assert done == list(range(500))


def test_a_lane_that_waits_does_not_hold_others_up(queue_pool: SerialQueuePool) -> None:
    go, passed = threading.Event(), threading.Event()
    queue_pool.new_queue().submit(lambda: go.wait(PATIENCE))
    queue_pool.new_queue().submit(passed.set)
    assert passed.wait(PATIENCE)
    go.set()


def test_as_many_lanes_run_at_once_as_there_are_threads_and_no_more(queue_pool: SerialQueuePool) -> None:
    together, go = threading.Semaphore(0), threading.Event()

    def job() -> None:
        together.release()
        go.wait(PATIENCE)

    for _ in range(300):
        queue_pool.new_queue().submit(job)
    assert all(together.acquire(timeout=PATIENCE) for _ in range(4))
    assert not together.acquire(timeout=0.05)
    assert len(threads()) == 4
    go.set()
    assert all(together.acquire(timeout=PATIENCE) for _ in range(296))


def test_threads_come_as_they_are_needed(queue_pool: SerialQueuePool) -> None:
    done = threading.Event()
    queue_pool.new_queue().submit(done.set)
    assert done.wait(PATIENCE)
    assert len(threads()) == 1


def test_a_job_that_fails_does_not_end_its_lane(queue_pool: SerialQueuePool) -> None:
    queue, done = queue_pool.new_queue(), threading.Event()
    queue.submit(lambda: 1 / 0)
    queue.submit(done.set)
    assert done.wait(PATIENCE)


def test_timers_fire_in_the_order_of_their_time_and_not_when_cancelled(queue_pool: SerialQueuePool) -> None:
    queue, fired, last = queue_pool.new_queue(), [], threading.Event()
    queue.submit_after(0.10, last.set)
    queue.submit_after(0.05, lambda: fired.append("second"))
    queue.submit_after(0.01, lambda: fired.append("first"))
    queue.submit_after(0.03, lambda: fired.append("never")).cancel()
    assert last.wait(PATIENCE)
    assert fired == ["first", "second"]


def test_hundreds_of_timers_need_one_thread(queue_pool: SerialQueuePool) -> None:
    fired = threading.Semaphore(0)
    for number in range(300):
        queue_pool.new_queue().submit_after(number / 10_000, fired.release)
    assert all(fired.acquire(timeout=PATIENCE) for _ in range(300))
    assert len(threads()) <= 5


def test_closing_does_what_waits_and_what_that_leads_to_but_no_timer() -> None:
    queue_pool = SerialQueuePool("test", 2)
    queue, done, go = queue_pool.new_queue(), [], threading.Event()
    queue.submit(lambda: go.wait(PATIENCE))
    queue.submit(lambda: queue.submit(lambda: done.append("follow-up")))
    queue.submit_after(3600, lambda: done.append("timer"))
    closing = threading.Thread(target=queue_pool.close)
    closing.start()
    go.set()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    assert done == ["follow-up"]
    queue.submit(lambda: done.append("late"))
    assert done == ["follow-up"]
    assert threads() == []


def test_one_who_ends_does_no_more_jobs_in_a_lane_that_others_share(queue_pool: SerialQueuePool) -> None:
    shared, done, last = queue_pool.new_queue(), [], threading.Event()
    first, second = CancellableQueue(shared), CancellableQueue(shared)

    def end_itself() -> None:
        first.end()
        done.append("goes on")

    first.submit(lambda: done.append("one"))
    first.submit(end_itself)
    first.submit(lambda: done.append("never"))
    first.submit_after(0.01, lambda: done.append("never either"))
    second.submit_after(0.05, last.set)
    second.submit(lambda: done.append("two"))
    assert last.wait(PATIENCE)
    assert done == ["one", "goes on", "two"]


def test_closing_may_drop_what_waits() -> None:
    queue_pool = SerialQueuePool("test", 1)
    done, begun, go = [], threading.Event(), threading.Event()
    queue_pool.new_queue().submit(lambda: begun.set() or go.wait(PATIENCE))  # type: ignore[func-returns-value]
    assert begun.wait(PATIENCE)
    queue_pool.new_queue().submit(lambda: done.append("dropped"))
    closing = threading.Thread(target=lambda: queue_pool.close(drop=True))
    closing.start()
    go.set()
    closing.join(PATIENCE)
    assert done == []
