# SPDX-License-Identifier: Apache-2.0
"""The thread pool of RPC servers."""

import gc
import logging
import threading
import time
import weakref
from collections.abc import Iterator

import pytest

from rpcapi.messaging.thread_pool import ThreadPool

LIMIT = 60.0


class Blocker:
    """A job that says when it began, in which thread, and runs until it is released."""

    def __init__(self) -> None:
        self.began = threading.Event()
        self.released = threading.Event()
        self.thread: threading.Thread | None = None

    def __call__(self) -> None:
        self.thread = threading.current_thread()
        self.began.set()
        assert self.released.wait(LIMIT)


@pytest.fixture
def pool() -> Iterator[ThreadPool]:
    pool = ThreadPool(3, "rpc test")
    yield pool
    pool.shutdown()


def begin(pool: ThreadPool) -> Blocker:
    """Submit a job that blocks, and return when it runs."""
    blocker = Blocker()
    pool.submit(blocker)
    assert blocker.began.wait(LIMIT)
    return blocker


def wait_until_idle(pool: ThreadPool, threads: int) -> None:
    deadline = time.monotonic() + LIMIT
    while len(pool._idle) != threads:
        assert time.monotonic() < deadline, f"{len(pool._idle)} threads are idle instead of {threads}"
        time.sleep(0.005)


def test_a_thread_is_started_only_if_none_is_idle(pool: ThreadPool) -> None:
    threads = set()
    for _ in range(10):
        blocker = begin(pool)
        threads.add(blocker.thread)
        blocker.released.set()
        wait_until_idle(pool, 1)
    assert len(threads) == 1


def test_the_thread_that_became_idle_last_gets_the_next_job(pool: ThreadPool) -> None:
    blockers = [begin(pool) for _ in range(3)]
    assert len({blocker.thread for blocker in blockers}) == 3
    for number, index in enumerate((1, 0, 2), 1):
        blockers[index].released.set()
        wait_until_idle(pool, number)
    again = begin(pool)
    assert again.thread is blockers[2].thread
    again.released.set()


def test_jobs_beyond_the_largest_number_of_threads_wait_in_their_order(pool: ThreadPool) -> None:
    blockers = [begin(pool) for _ in range(3)]
    order: list[int] = []
    for number in range(5):
        pool.submit(order.append, number)
    assert not order
    blockers[0].released.set()
    wait_until_idle(pool, 1)
    assert order == [0, 1, 2, 3, 4]
    for blocker in blockers:
        blocker.released.set()


def test_a_job_waits_for_another_thread_if_the_process_can_start_no_more(
    pool: ThreadPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    blocker = begin(pool)
    ran: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", fail)
        pool.submit(ran.append, 1)
    blocker.released.set()
    wait_until_idle(pool, 1)
    assert ran == [1]


def test_a_shutdown_runs_what_was_submitted_and_ends_the_threads() -> None:
    pool = ThreadPool(1)
    blocker = begin(pool)
    ran: list[int] = []
    for number in range(3):
        pool.submit(ran.append, number)
    pool.shutdown(wait=False)
    with pytest.raises(RuntimeError):
        pool.submit(ran.append, 3)
    blocker.released.set()
    pool.shutdown()
    assert ran == [0, 1, 2]
    assert blocker.thread is not None and not blocker.thread.is_alive()


def test_a_shutdown_ends_idle_threads(pool: ThreadPool) -> None:
    blocker = begin(pool)
    blocker.released.set()
    wait_until_idle(pool, 1)
    pool.shutdown()
    assert blocker.thread is not None and not blocker.thread.is_alive()


@pytest.mark.parametrize("error", [ValueError, SystemExit])
def test_a_job_that_raises_is_logged_and_ends_no_thread(
    error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise error("no luck")

    caplog.set_level(logging.ERROR)
    pool = ThreadPool(1, "rpc test")
    before = begin(pool)
    before.released.set()
    pool.submit(fail)
    after = begin(pool)
    after.released.set()
    pool.shutdown()
    assert after.thread is before.thread
    assert "A job of pool rpc test failed" in caplog.text


def test_an_idle_thread_keeps_nothing_of_its_job_alive(pool: ThreadPool) -> None:
    class Message:
        pass

    message = Message()
    is_alive = weakref.ref(message)
    pool.submit(lambda message: None, message)
    wait_until_idle(pool, 1)
    del message
    gc.collect()
    assert is_alive() is None


def test_the_threads_are_named_after_the_pool(pool: ThreadPool) -> None:
    blockers = [begin(pool) for _ in range(2)]
    for blocker in blockers:
        blocker.released.set()
    assert [blocker.thread and blocker.thread.name for blocker in blockers] == ["rpc test 0", "rpc test 1"]
