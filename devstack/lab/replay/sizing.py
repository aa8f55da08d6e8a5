# SPDX-License-Identifier: Apache-2.0
"""How many hosts a trace needs."""

import functools
import itertools
import math
from collections.abc import Mapping
from typing import Any

from devstack.confs import NODE_SHAPES
from devstack.lab import hosts
from devstack.lab.command import MOST_HOSTS
from scheduler_svc.store.records import Amounts

FIRST = 64
CPU_RATIO = 4.0  # what a simulated node sells of a processor where its shape does not say


def enough(peak: Amounts, fill: float, *, cluster: bool = False) -> int:
    """Return the least number of hosts of which ``peak`` is no more than the share ``fill``, by the scarcer class.

    The lab's hosts, or with ``cluster`` those that a devstack cluster simulates, in the mean. At least 1; raises
    ValueError where more than MOST_HOSTS would be needed.
    """
    if cluster:
        held = _simulated()
        return max(1, *(math.ceil(amount / fill / held[name]) for name, amount in peak.items()))
    size = _about(peak, fill)
    while size <= MOST_HOSTS:
        held_by = itertools.accumulate(map(_capacity, hosts.make(size).values()), _sum)
        for count, total in enumerate(held_by, 1):
            if all(fill * total[name] >= amount for name, amount in peak.items()):
                return count
        size *= 2
    raise ValueError(f"the trace's peak of {dict(peak)} needs more than {MOST_HOSTS} hosts: name fewer requests")


def _about(peak: Amounts, fill: float) -> int:
    """Return what should be enough, by the first hosts' mean and some more."""
    held: Amounts = functools.reduce(_sum, map(_capacity, hosts.make(FIRST).values()))
    return FIRST + max(math.ceil(1.1 * FIRST * amount / (fill * held[name])) for name, amount in peak.items())


def _simulated() -> Mapping[str, float]:
    """Return what a node of a devstack cluster holds in the mean."""
    shapes: list[Mapping[str, Any]] = list(NODE_SHAPES.values())
    shares = sum(each["share"] for each in shapes)
    vcpus = sum(each["share"] * each["vcpus"] * each.get("cpu_allocation_ratio", CPU_RATIO) for each in shapes)
    return {"VCPU": vcpus / shares, "MEMORY_MB": sum(each["share"] * each["memory_mb"] for each in shapes) / shares}


def _capacity(told: Mapping[str, Any]) -> Amounts:
    return {name: unit["capacity"] for name, unit in told["inventories"].items()}


def _sum(one: Amounts, other: Amounts) -> Amounts:
    return {name: one[name] + other[name] for name in one}
