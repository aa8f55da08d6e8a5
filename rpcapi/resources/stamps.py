# SPDX-License-Identifier: Apache-2.0
"""Comparison of store stamps "EPOCH.POSITION.CODE" by agents and conductors; only schedulers verify the code."""


def place_of(stamp: str | None) -> tuple[int, int]:
    """Return (epoch, position) of a stamp; zeros for None or a malformed stamp."""
    parts = (stamp or "").split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return 0, 0
    return int(parts[0]), int(parts[1])
