# SPDX-License-Identifier: Apache-2.0
"""Processor time and memory of a process's descendants, less sensitive to other load than a rate."""

import os
from collections import defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path

PARENT, USER, SYSTEM, RESIDENT = 1, 11, 12, 21  # field numbers in /proc/PID/stat, counted from the state


def descendant_cpu_seconds(pid: int) -> float:
    return _cpu_seconds(descendants(pid).values())


def descendants(pid: int) -> dict[int, list[str]]:
    """Return {process id: fields of /proc/PID/stat from the state on} for all live descendants of ``pid``."""
    children: dict[int, list[int]] = defaultdict(list)
    stats: dict[int, list[str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = _fields(path)
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
    own = _cpu_seconds(_fields(Path(f"/proc/{pid}/stat")) for pid in pids)
    return own + sum(descendant_cpu_seconds(pid) for pid in pids)


def resident_bytes(pid: int) -> int:
    """Return the resident memory of all live descendants; shared pages count for each of them."""
    page = os.sysconf("SC_PAGE_SIZE")
    return sum(int(fields[RESIDENT]) * page for fields in descendants(pid).values())


def resident_kb(process: int | str) -> int:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def _fields(stat: Path) -> list[str]:
    return stat.read_text().rpartition(")")[2].split()


def _cpu_seconds(stats: Iterable[list[str]]) -> float:
    return sum(int(fields[USER]) + int(fields[SYSTEM]) for fields in stats) / os.sysconf("SC_CLK_TCK")
