# SPDX-License-Identifier: Apache-2.0
"""Gap detection in the log."""

from scheduler_svc.core.records import LogEntry

CARRIED_ENTRIES = 256  # that the answers to claims carry; a longer gap is left to the follower of the log


def without_gap(position: int, entries: list[LogEntry], newest: int) -> list[LogEntry] | None:
    """Return ``entries``, which were read after ``position``, or None where entries are missing.

    ``newest`` is the log's last position. Only an ``epoch`` entry may skip positions: its reader resyncs anyway.
    """
    if position > newest:
        return None
    if not entries:
        return [] if position == newest else None
    for entry in entries:
        if entry.position != position + 1 and entry.kind != "epoch":
            return None
        position = entry.position
    return entries
