# SPDX-License-Identifier: Apache-2.0
"""Work in the native worker pool: green threads keep running meanwhile."""

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


def test_green_threads_run_during_the_work_and_errors_are_raised() -> None:
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert process.stdout.split() == ["True", "raised"]


def test_work_runs_directly_with_native_threads() -> None:
    assert green.run_in_worker_pool(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        green.run_in_worker_pool(lambda: 1 / 0)
