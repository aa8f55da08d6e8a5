# SPDX-License-Identifier: Apache-2.0
"""Clock of the in-memory store, unaffected by steps of the machine's clock."""

import time

_START = time.time() - time.monotonic()


def steady_clock() -> int:
    """Return Unix time in milliseconds, monotonic since the import."""
    return int((_START + time.monotonic()) * 1000)
