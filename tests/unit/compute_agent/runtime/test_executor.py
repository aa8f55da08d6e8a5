# SPDX-License-Identifier: Apache-2.0
"""Serial queues: jobs run in order within a queue, in parallel across queues, on a bounded number of threads."""

import functools
import threading
from collections.abc import Iterator

import pytest

from compute_agent.runtime.executor import CancellableQueue, SerialQueuePool

TIMEOUT = 20.0


@pytest.fixture
def queue_pool() -> Iterator[SerialQueuePool]:
    queue_pool = SerialQueuePool("test", 4)
    yield queue_pool
    queue_pool.close()


def threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("test ")]


def test_jobs_of_a_queue_run_in_order_one_at_a_time(queue_pool: SerialQueuePool) -> None:
    queue, done, busy = queue_pool.new_queue(), [], threading.Lock()

    def job(number: int) -> None:
        assert busy.acquire(blocking=False)
        done.append(number)
        busy.release()

    for number in range(500):
        queue.submit(functools.partial(job, number))
    queue_pool.close()
    assert done == list(range(500))


def test_blocked_queue_does_not_block_others(queue_pool: SerialQueuePool) -> None:
    go, passed = threading.Event(), threading.Event()
    queue_pool.new_queue().submit(lambda: go.wait(TIMEOUT))
    queue_pool.new_queue().submit(passed.set)
    assert passed.wait(TIMEOUT)
    go.set()


def test_number_of_running_queues_is_limited_by_threads(queue_pool: SerialQueuePool) -> None:
    together, go = threading.Semaphore(0), threading.Event()

    def job() -> None:
        together.release()
        go.wait(TIMEOUT)

    for _ in range(300):
        queue_pool.new_queue().submit(job)
    assert all(together.acquire(timeout=TIMEOUT) for _ in range(4))
    assert not together.acquire(timeout=0.05)
    assert len(threads()) == 5  # one is that of the timers
    go.set()
    assert all(together.acquire(timeout=TIMEOUT) for _ in range(296))


def test_threads_are_started_on_demand(queue_pool: SerialQueuePool) -> None:
    done = threading.Event()
    queue_pool.new_queue().submit(done.set)
    assert done.wait(TIMEOUT)
    assert threads() == ["test clock", "test 0"]


def test_failing_job_does_not_end_its_queue(queue_pool: SerialQueuePool) -> None:
    queue, done = queue_pool.new_queue(), threading.Event()
    queue.submit(lambda: 1 / 0)
    queue.submit(done.set)
    assert done.wait(TIMEOUT)


def test_timers_fire_in_the_order_of_their_time_and_not_when_cancelled(queue_pool: SerialQueuePool) -> None:
    queue, fired, last = queue_pool.new_queue(), [], threading.Event()
    queue.submit_after(0.10, last.set)
    queue.submit_after(0.05, lambda: fired.append("second"))
    queue.submit_after(0.01, lambda: fired.append("first"))
    queue.submit_after(0.03, lambda: fired.append("never")).cancel()
    assert last.wait(TIMEOUT)
    assert fired == ["first", "second"]


def test_hundreds_of_timers_need_one_thread(queue_pool: SerialQueuePool) -> None:
    fired = threading.Semaphore(0)
    for number in range(300):
        queue_pool.new_queue().submit_after(number / 10_000, fired.release)
    assert all(fired.acquire(timeout=TIMEOUT) for _ in range(300))
    assert len(threads()) <= 5


def test_close_runs_queued_jobs_and_their_follow_ups_but_no_timers() -> None:
    queue_pool = SerialQueuePool("test", 2)
    queue, done, go = queue_pool.new_queue(), [], threading.Event()
    queue.submit(lambda: go.wait(TIMEOUT))
    queue.submit(lambda: queue.submit(lambda: done.append("follow-up")))
    queue.submit_after(3600, lambda: done.append("timer"))
    closing = threading.Thread(target=queue_pool.close)
    closing.start()
    go.set()
    closing.join(TIMEOUT)
    assert not closing.is_alive()
    assert done == ["follow-up"]
    queue.submit(lambda: done.append("late"))
    assert done == ["follow-up"]
    assert threads() == []


def test_ended_user_of_a_shared_queue_runs_no_more_jobs(queue_pool: SerialQueuePool) -> None:
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
    assert last.wait(TIMEOUT)
    assert done == ["one", "goes on", "two"]


def test_close_with_drop_discards_queued_jobs() -> None:
    queue_pool = SerialQueuePool("test", 1)
    done, begun, go = [], threading.Event(), threading.Event()
    queue_pool.new_queue().submit(lambda: begun.set() or go.wait(TIMEOUT))  # type: ignore[func-returns-value]
    assert begun.wait(TIMEOUT)
    queue_pool.new_queue().submit(lambda: done.append("dropped"))
    closing = threading.Thread(target=lambda: queue_pool.close(drop=True))
    closing.start()
    go.set()
    closing.join(TIMEOUT)
    assert done == []
