# SPDX-License-Identifier: Apache-2.0
"""Until when what a thread does now may wait, however deep below the code of somebody else."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class _Current(threading.local):
    deadline: float | None = None


_CURRENT = _Current()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    """Let this thread wait for so many seconds from now, or until the deadline it has if that is sooner."""
    before, mine = _CURRENT.deadline, time.monotonic() + seconds
    _CURRENT.deadline = mine if before is None else min(mine, before)
    try:
        yield
    finally:
        _CURRENT.deadline = before


@contextmanager
def at_least_bounded(seconds: float) -> Iterator[None]:
    """Let this thread wait for so many seconds where it has no deadline; leave one that it has."""
    if _CURRENT.deadline is not None:
        yield
        return
    with within(seconds):
        yield


def left() -> float | None:
    """The seconds left, never negative; None where this thread may wait without an end."""
    return None if _CURRENT.deadline is None else max(0.0, _CURRENT.deadline - time.monotonic())
