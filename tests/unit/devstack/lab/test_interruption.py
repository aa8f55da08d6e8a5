# SPDX-License-Identifier: Apache-2.0
"""Termination signals are deferred until the end of a step, and repeated if they were swallowed."""

import signal
import subprocess
import sys

import pytest

from devstack.lab.interruption import TERMINATION_SIGNALS, defer_signals


@pytest.mark.parametrize("number", TERMINATION_SIGNALS)
def test_signal_takes_effect_after_the_step(number):
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


def test_failing_step_restores_the_handlers():
    before = [signal.getsignal(number) for number in TERMINATION_SIGNALS]
    with pytest.raises(ZeroDivisionError), defer_signals():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in TERMINATION_SIGNALS] == before


# In a separate process: pytest-timeout uses the alarm signal in this one.
SCRIPT = """
import signal, sys, threading
from devstack.lab.interruption import repeat_swallowed_signals

class Finalized:
    def __del__(self):
        {fault}

signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
repeat_swallowed_signals()
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
def test_termination_swallowed_by_a_finalizer_is_repeated_and_nothing_else_is(fault, seconds, code):
    # Given a process in whose finalizer a signal or another error is raised
    script = SCRIPT.format(fault=fault, seconds=seconds)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=50, check=False)
    # Then it continues after the finalizer, and ends if a termination signal was sent
    assert (done.returncode, done.stdout) == (code, "lived on\n"), done.stderr
    assert "ZeroDivisionError" in done.stderr or code
