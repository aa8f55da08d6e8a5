# SPDX-License-Identifier: Apache-2.0
"""How far the server's clock is ahead of the partition's own time, which the scripts keep (``_time.lua``)."""

FIELDS = ("time", "clock")  # of the hash ``meta``


def lead(time: str | None, clock: str | None) -> int:
    """Return the milliseconds to add to the partition's time to get the server's clock, from the recorded FIELDS."""
    return 0 if time is None or clock is None else int(clock) - int(time)
