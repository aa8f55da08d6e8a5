# SPDX-License-Identifier: Apache-2.0
"""Handling of termination signals: deferred during critical steps, and repeated when a finalizer swallowed them."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

TERMINATION_SIGNALS = (signal.SIGTERM, signal.SIGINT)
SIGNAL_OF_EXCEPTION = {SystemExit: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}  # what the handlers raise
AGAIN_SECONDS = 0.02


@contextlib.contextmanager
def defer_signals() -> Iterator[None]:
    """Defer termination signals until the end of this block; for the main thread and short steps.

    The handlers raise anywhere: a process that is not recorded yet would outlive the lab, and libraries would fail.
    """
    received: list[int] = []

    def record(number: int, _frame: Any) -> None:
        received.append(number)

    before = {number: signal.signal(number, record) for number in TERMINATION_SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for signal_number in received:
            signal.raise_signal(signal_number)


def repeat_swallowed_signals() -> None:
    """Repeat a termination signal whose exception was swallowed; for the main thread, once.

    Python discards exceptions of a handler that runs in ``__del__``. A timer repeats the signal, not a thread: the
    finalizer may have run while any lock was held.
    """
    swallowed: list[int] = []
    before = sys.unraisablehook

    def record(unraisable: Any) -> None:
        number = SIGNAL_OF_EXCEPTION.get(unraisable.exc_type)
        if number is None:
            before(unraisable)
            return
        swallowed.append(number)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)

    signal.signal(signal.SIGALRM, lambda _number, _frame: signal.raise_signal(swallowed[-1]))
    sys.unraisablehook = record
