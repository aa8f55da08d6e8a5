# SPDX-License-Identifier: Apache-2.0
"""Time of the in-memory store, which no step of the machine's clock changes."""

import time

_START = time.time() - time.monotonic()


def steady_clock() -> int:
    """Return Unix time in milliseconds; the machine's clock is read once, so that its later steps have no effect."""
    return int((_START + time.monotonic()) * 1000)
