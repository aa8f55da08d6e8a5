# SPDX-License-Identifier: Apache-2.0
"""Clock lead: the server's clock minus partition time. Scripts advance both in _time.lua."""

FIELDS = ("time", "clock")  # fields of hash ``meta``: partition time, and the server's clock at that time


def lead(time: str | None, clock: str | None) -> int:
    return 0 if time is None or clock is None else int(clock) - int(time)
