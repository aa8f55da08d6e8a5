# SPDX-License-Identifier: Apache-2.0
"""Gap detection in the log."""

from scheduler_svc.core.records import LogEntry

CARRIED_ENTRIES = 256  # maximum log entries returned with claim answers; a follower further behind reads the log


def without_gap(position: int, entries: list[LogEntry], newest: int) -> list[LogEntry] | None:
    """Return ``entries``, or None unless they follow ``position`` without a gap.

    An ``epoch`` entry may skip positions. No entries are a gap unless ``position`` is ``newest``, the log's last.
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
