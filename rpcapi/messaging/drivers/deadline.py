# SPDX-License-Identifier: Apache-2.0
"""Thread-local deadline that also bounds waits in third-party code without a timeout parameter."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class _ThreadDeadline(threading.local):
    deadline: float | None = None


_THREAD = _ThreadDeadline()


@contextmanager
def limit_wait(seconds: float) -> Iterator[None]:
    """Set the thread's deadline to `seconds` from now unless the current one is sooner."""
    previous_deadline, new_deadline = _THREAD.deadline, time.monotonic() + seconds
    _THREAD.deadline = new_deadline if previous_deadline is None else min(new_deadline, previous_deadline)
    try:
        yield
    finally:
        _THREAD.deadline = previous_deadline


@contextmanager
def limit_wait_if_unbounded(seconds: float) -> Iterator[None]:
    """Set the thread's deadline to `seconds` from now unless it has one."""
    with limit_wait(seconds if _THREAD.deadline is None else math.inf):
        yield


def remaining_seconds() -> float | None:
    """Return the seconds until the thread's deadline, at least 0; None without a deadline."""
    return None if _THREAD.deadline is None else max(0.0, _THREAD.deadline - time.monotonic())
