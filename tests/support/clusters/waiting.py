# SPDX-License-Identifier: Apache-2.0
"""Waiting for a condition."""

import time
from collections.abc import Callable

DEADLINE = 60.0  # what is waited for is the start of several processes beside those of other tests


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not happen within {DEADLINE} s"
        time.sleep(0.02)
