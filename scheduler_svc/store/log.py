# SPDX-License-Identifier: Apache-2.0
"""Gap detection in the log."""

from scheduler_svc.core.records import LogEntry

CARRIED_ENTRIES = 256  # log entries returned with claims; followers read longer gaps themselves


def without_gap(position: int, entries: list[LogEntry], newest: int) -> list[LogEntry] | None:
    """Return ``entries`` from ``position`` to ``newest``, or None for a gap, except before an ``epoch`` entry."""
    if position > newest:
        return None
    if not entries:
        return [] if position == newest else None
    for entry in entries:
        if entry.position != position + 1 and entry.kind != "epoch":
            return None
        position = entry.position
    return entries
