# SPDX-License-Identifier: Apache-2.0
"""A signal waits for the end of a step, and is not forgotten."""

import signal

import pytest

from devstack.lab.interruption import ENDING, held_back


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_takes_effect_when_the_step_is_over(number):
    steps = []

    def end(_number, _frame):
        raise SystemExit(steps.append("ended"))

    before = signal.signal(number, end)
    try:
        with pytest.raises(SystemExit), held_back():
            signal.raise_signal(number)
            steps.append("over")
        assert steps == ["over", "ended"]
        assert signal.getsignal(number) is end
    finally:
        signal.signal(number, before)


def test_a_step_that_fails_gives_the_signals_back():
    before = [signal.getsignal(number) for number in ENDING]
    with pytest.raises(ZeroDivisionError), held_back():
        raise ZeroDivisionError
    assert [signal.getsignal(number) for number in ENDING] == before
