# SPDX-License-Identifier: Apache-2.0
"""Processor time of a process's descendants: less sensitive to other load on the machine than a rate."""

import os
from collections import defaultdict
from pathlib import Path

PARENT, USER, SYSTEM = 1, 11, 12  # field numbers in /proc/PID/stat, counted from the state


def descendant_cpu_seconds(pid: int) -> float:
    """Return the CPU seconds of all live descendants of ``pid``."""
    children: dict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        process_id = int(path.parent.name)
        children[int(fields[PARENT])].append(process_id)
        ticks[process_id] = int(fields[USER]) + int(fields[SYSTEM])
    total, remaining = 0, list(children[pid])
    while remaining:
        descendant = remaining.pop()
        total += ticks[descendant]
        remaining += children[descendant]
    return total / os.sysconf("SC_CLK_TCK")
