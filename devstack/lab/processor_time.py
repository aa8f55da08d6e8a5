# SPDX-License-Identifier: Apache-2.0
"""Processor time and memory of a process's descendants: less sensitive to other load on the machine than a rate."""

import os
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path

PARENT, USER, SYSTEM, RESIDENT = 1, 11, 12, 21  # field numbers in /proc/PID/stat, counted from the state


def descendant_cpu_seconds(pid: int) -> float:
    ticks = sum(int(fields[USER]) + int(fields[SYSTEM]) for fields in descendants(pid).values())
    return ticks / os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> dict[int, list[str]]:
    """Return the fields of /proc/PID/stat, from the state on, of all live descendants of ``pid`` by process id."""
    children: dict[int, list[int]] = defaultdict(list)
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        process_id = int(path.parent.name)
        children[int(fields[PARENT])].append(process_id)
        stats[process_id] = fields
    lineage = list(children[pid])
    for descendant in lineage:
        lineage += children[descendant]
    return {descendant: stats[descendant] for descendant in lineage}


def cpu_seconds(pids: Collection[int]) -> float:
    """Return the CPU seconds of live processes and of all their live descendants."""
    clock = os.sysconf("SC_CLK_TCK")
    own = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        own += int(fields[USER]) + int(fields[SYSTEM])
    return own / clock + sum(descendant_cpu_seconds(pid) for pid in pids)


def resident_bytes(pid: int) -> int:
    """Return the resident memory of all live descendants, shared pages counted for each."""
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(fields[RESIDENT]) * page for fields in descendants(pid).values())


def resident_kb(process: int | str) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))
