# SPDX-License-Identifier: Apache-2.0
"""How much processor time a process's descendants took: what a busy neighbour changes less than a rate."""

import os
from collections import defaultdict
from pathlib import Path

PARENT, USER, SYSTEM = 1, 11, 12  # where /proc/PID/stat holds them, counted from the state on


def seconds_below(pid: int) -> float:
    """Return the seconds of all live processes that ``pid`` began, of those that they began, and so on."""
    children: dict[int, list[int]] = defaultdict(list)
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        own = int(path.parent.name)
        children[int(fields[PARENT])].append(own)
        ticks[own] = int(fields[USER]) + int(fields[SYSTEM])
    total, left = 0, list(children[pid])
    while left:
        one = left.pop()
        total += ticks[one]
        left += children[one]
    return total / os.sysconf("SC_CLK_TCK")
