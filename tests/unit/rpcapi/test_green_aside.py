# SPDX-License-Identifier: Apache-2.0
"""Long work aside: other green threads go on while it lasts."""

import subprocess
import sys
import textwrap

import pytest

from rpcapi import green

PROGRAM = textwrap.dedent(
    """
    from rpcapi import green

    green.patch()

    import threading, time

    told = []

    def work():  # without a switch between green threads of its own
        end = time.monotonic() + 20
        while not told and time.monotonic() < end:
            pass
        return bool(told)

    teller = threading.Timer(0.01, lambda: told.append("said meanwhile"))
    teller.start()
    print(green.aside(work))
    try:
        green.aside(lambda: 1 / 0)
    except ZeroDivisionError:
        print("raised")
    """
)


def test_green_threads_go_on_meanwhile_and_errors_come_back() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["True", "raised"]


def test_on_threads_of_the_system_it_is_done_here_and_now() -> None:
    assert green.aside(lambda: 7) == 7
    with pytest.raises(ZeroDivisionError):
        green.aside(lambda: 1 / 0)
