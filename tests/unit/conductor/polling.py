# SPDX-License-Identifier: Apache-2.0
"""Waiting for what another thread does."""

import time
from collections.abc import Callable

LONGEST = 20.0


def until(condition: Callable[[], object], what: str) -> None:
    """Return as soon as ``condition`` holds; fail with ``what`` when it does not for long."""
    deadline = time.monotonic() + LONGEST
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.005)
