# SPDX-License-Identifier: Apache-2.0
"""Steps that a signal must not break in the middle."""

import contextlib
import signal
from collections.abc import Iterator
from typing import Any

ENDING = (signal.SIGTERM, signal.SIGINT)


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
