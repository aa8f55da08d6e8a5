# SPDX-License-Identifier: Apache-2.0
"""Gap detection in the log."""

from scheduler_svc.core.records import LogEntry

CARRIED_ENTRIES = 256  # log entries returned with claims; the log's follower reads longer gaps


def without_gap(position: int, entries: list[LogEntry], newest: int) -> list[LogEntry] | None:
    """Return the ``entries`` read after ``position``, or None if some are missing.

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
