# SPDX-License-Identifier: Apache-2.0
"""Signals that end the lab: steps that they must not break in the middle, and ends that must not be lost."""

import contextlib
import signal
import sys
from collections.abc import Iterator
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGINT)
RAISED = {SystemExit: signal.SIGTERM, KeyboardInterrupt: signal.SIGINT}  # what their handlers raise in the lab
AGAIN_SECONDS = 0.02


@contextlib.contextmanager
def held_back() -> Iterator[None]:
    """Let a signal that ends the lab wait until this block is over; for the main thread, and short steps.

    The signals raise wherever the program is. A process that has just been started, and that nobody has noted yet,
    would then outlive the lab, and libraries do not expect to be left half way through such a step.
    """
    came: list[int] = []

    def note(number: int, _frame: Any) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


def insist() -> None:
    """Have an end that was swallowed asked for again; for the main thread, once.

    A handler runs wherever the program is, in an object's ``__del__`` too. Python prints what it raises there, and
    forgets it: the lab would run on. A timer's signal comes again a moment later; no thread does it, since the
    finalizer may have come while any lock was held.
    """
    swallowed: list[int] = []
    before = sys.unraisablehook

    def note(what: Any) -> None:
        number = RAISED.get(what.exc_type)
        if number is None:
            before(what)
            return
        swallowed.append(number)
        signal.setitimer(signal.ITIMER_REAL, AGAIN_SECONDS)

    signal.signal(signal.SIGALRM, lambda _number, _frame: signal.raise_signal(swallowed[-1]))
    sys.unraisablehook = note
