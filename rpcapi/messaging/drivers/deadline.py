# SPDX-License-Identifier: Apache-2.0
"""Deadline of a context, which also bounds waits inside third-party code."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_DEADLINE: ContextVar[float | None] = ContextVar("deadline", default=None)


@contextmanager
def limit_wait(seconds: float) -> Iterator[None]:
    """Set the context's deadline to `seconds` from now, unless the current one is sooner."""
    previous_deadline, new_deadline = _DEADLINE.get(), time.monotonic() + seconds
    token = _DEADLINE.set(new_deadline if previous_deadline is None else min(new_deadline, previous_deadline))
    try:
        yield
    finally:
        _DEADLINE.reset(token)


@contextmanager
def limit_wait_if_unbounded(seconds: float) -> Iterator[None]:
    with limit_wait(seconds if _DEADLINE.get() is None else math.inf):
        yield


def remaining_seconds() -> float | None:
    """Return the seconds until the deadline, at least 0; None without a deadline."""
    deadline = _DEADLINE.get()
    return None if deadline is None else max(0.0, deadline - time.monotonic())
