# SPDX-License-Identifier: Apache-2.0
"""Description of the machine of a measurement."""

import os
import platform
from pathlib import Path

GIB = 2**30

Machine = dict[str, str | int | float]


def describe() -> Machine:
    """Return the machine and its load; a load above one per core means that other programs disturb the measurement."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
    }


def sentence(machine: Machine) -> str:
    """Return the description as one line of text."""
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}, "
        f"Python {machine['python']}; load over the last minute {machine['load_1min']}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()
