# SPDX-License-Identifier: Apache-2.0
"""Server's clock minus partition time, which scripts advance in _time.lua."""

FIELDS = ("time", "clock")  # in hash ``meta``


def lead(time: str | None, clock: str | None) -> int:
    return 0 if time is None or clock is None else int(clock) - int(time)
