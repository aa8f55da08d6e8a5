# SPDX-License-Identifier: Apache-2.0
"""Following the log: entries without a gap, or the news that there is one."""

from scheduler_svc.store.records import Entry


def without_gap(position: int, found: list[Entry], newest: int) -> list[Entry] | None:
    """Return ``found``, the entries read after ``position``, or None where some are missing before them.

    ``newest`` is the log's last position. Only an ``epoch`` entry may leap: its reader starts over anyway.
    """
    if position > newest:
        return None
    if not found:
        return [] if position == newest else None
    for entry in found:
        if entry.position != position + 1 and entry.kind != "epoch":
            return None
        position = entry.position
    return found
