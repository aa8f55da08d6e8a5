# SPDX-License-Identifier: Apache-2.0
"""A signal waits for the end of a step, and is not forgotten."""

import signal
import subprocess
import sys

import pytest

from devstack.lab.interruption import TERMINATION_SIGNALS, defer_signals


@pytest.mark.parametrize("number", TERMINATION_SIGNALS)
def test_a_signal_takes_effect_when_the_step_is_over(number):
    steps = []

    def end(_number, _frame):
        raise SystemExit(steps.append("ended"))

    before = signal.signal(number, end)
    try:
        with pytest.raises(SystemExit), defer_signals():
            signal.raise_signal(number)
            steps.append("over")
        assert steps == ["over", "ended"]
        assert signal.getsignal(number) is end
    finally:
        signal.signal(number, before)


def test_a_step_that_fails_gives_the_signals_back():
    before = [signal.getsignal(number) for number in TERMINATION_SIGNALS]
    with pytest.raises(ZeroDivisionError), defer_signals():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in TERMINATION_SIGNALS] == before


# In a process of its own: the alarm by which an end comes again is pytest-timeout's here.
LOST = """
import signal, sys, threading
from devstack.lab.interruption import insist

class Finalized:
    def __del__(self):
        {fault}

signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
insist()
Finalized()
print("lived on")
threading.Event().wait({seconds})
"""


@pytest.mark.parametrize(
    ("fault", "seconds", "code"),
    [
        ("signal.raise_signal(signal.SIGTERM)", 60, 128 + signal.SIGTERM),
        ("signal.raise_signal(signal.SIGINT)", 60, -signal.SIGINT),
        ("raise ZeroDivisionError", 0.1, 0),
    ],
)
def test_an_end_that_a_finalizer_swallowed_comes_again_and_nothing_else_does(fault, seconds, code):
    # Given a process in whose finalizer a signal comes, or another fault
    script = LOST.format(fault=fault, seconds=seconds)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    # Then it outlives the finalizer, and ends none the less where an end was asked for
    assert (done.returncode, done.stdout) == (code, "lived on\n"), done.stderr
    assert "ZeroDivisionError" in done.stderr or code
