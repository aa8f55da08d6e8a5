# SPDX-License-Identifier: Apache-2.0
"""Difference between the server's clock and partition time, which the scripts advance (``_time.lua``)."""

FIELDS = ("time", "clock")  # in hash ``meta``


def lead(time: str | None, clock: str | None) -> int:
    """Return the server's clock minus partition time in ms, from the stored FIELDS."""
    return 0 if time is None or clock is None else int(clock) - int(time)
