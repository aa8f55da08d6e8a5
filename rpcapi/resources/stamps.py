# SPDX-License-Identifier: Apache-2.0
"""Stamps "EPOCH.POSITION.CODE" of a partition's store, as their holders compare them; only schedulers verify them."""


def place_of(stamp: str | None) -> tuple[int, int]:
    """Return the epoch and position in a stamp, zeros for none or a malformed one."""
    parts = (stamp or "").split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() for part in parts[:2]):
        return 0, 0
    return int(parts[0]), int(parts[1])
