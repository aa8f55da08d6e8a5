# SPDX-License-Identifier: Apache-2.0
"""Waits of tests for threads: until something holds, and until calls wait for the next round."""

import time
from collections.abc import Callable
from typing import Any

from rpcapi.rounds import Rounds

SECONDS = 30.0


def wait_until(holds: Callable[[], bool]) -> None:
    """Return once ``holds`` returns true; fails after SECONDS."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def waiting_calls(rounds: Rounds[Any, Any]) -> int:
    """Return how many calls wait for the next round."""
    with rounds._lock:
        return sum(map(len, rounds._waiting.values()))
