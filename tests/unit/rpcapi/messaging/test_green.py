# SPDX-License-Identifier: Apache-2.0
"""Green threads: work in the native worker pool, during which they keep running, and the time-out of a join."""

import subprocess
import sys
import textwrap

import pytest

from rpcapi.messaging import green

PROGRAM = textwrap.dedent(
    """
    from rpcapi.messaging import green

    green.patch()

    import threading, time

    messages = []

    def work():  # never switches green threads
        end = time.monotonic() + 20
        while not messages and time.monotonic() < end:
            pass
        return bool(messages)

    timer = threading.Timer(0.01, lambda: messages.append("sent meanwhile"))
    timer.start()
    print(green.run_in_worker_pool(work))
    try:
        green.run_in_worker_pool(lambda: 1 / 0)
    except ZeroDivisionError:
        print("raised")
    """
)

JOINS = textwrap.dedent(
    """
    from rpcapi.messaging import green

    green.patch()

    import threading

    from eventlet.green import thread as green_thread

    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    thread.join(0.01)
    print(thread.is_alive())

    handle = green_thread.start_joinable_thread(lambda: end.wait())  # what a Thread has since Python 3.13
    handle.join(0.01)
    print(handle.is_done())
    end.set()
    handle.join(60)
    print(handle.is_done())
    thread.join()
    print(thread.is_alive())
    """
)


def output_of(program: str) -> list[str]:
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return process.stdout.split()


def test_green_threads_run_during_the_work_and_errors_are_raised() -> None:
    assert output_of(PROGRAM) == ["True", "raised"]


def test_join_returns_at_its_timeout() -> None:
    assert output_of(JOINS) == ["True", "False", "True", "False"]


def test_work_runs_directly_with_native_threads() -> None:
    assert green.run_in_worker_pool(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        green.run_in_worker_pool(lambda: 1 / 0)
