# SPDX-License-Identifier: Apache-2.0
"""Wall-clock time in milliseconds, which tests replace."""

import time
from collections.abc import Callable

Clock = Callable[[], int]


def wall_ms() -> int:
    return time.time_ns() // 1_000_000
