# SPDX-License-Identifier: Apache-2.0
"""Polling for the effects of another thread."""

import time
from collections.abc import Callable

LONGEST = 20.0


def until(condition: Callable[[], object], what: str) -> None:
    """Return as soon as ``condition`` is true; fail with ``what`` on time-out."""
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline, f"time-out waiting until {what}"
        time.sleep(0.005)
