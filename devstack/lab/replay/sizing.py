# SPDX-License-Identifier: Apache-2.0
"""Number of hosts that a trace needs."""

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from devstack.confs import NODE_SHAPES
from devstack.lab import hosts
from devstack.lab.benchmark import MAX_HOSTS
from scheduler_svc.core.records import Amounts

FIRST = 64
CPU_RATIO = 4.0  # of a simulated node whose shape does not set one


def required_hosts(
    peak: Amounts, fill: float, shapes: Sequence[hosts.Shape] = hosts.SHAPES, *, cluster: bool = False
) -> int:
    """Return the smallest number of hosts for which ``peak`` is at most the share ``fill`` of the scarcer class.

    Counts the lab's generated hosts of ``shapes``, or with ``cluster`` average nodes of a devstack cluster. At least 1;
    raises ValueError if more than MAX_HOSTS would be needed.
    """
    if cluster:
        node_capacity = _simulated_capacity()
        return max(1, *(math.ceil(amount / fill / node_capacity[name]) for name, amount in peak.items()))
    size = _estimate(peak, fill, shapes)
    while size <= MAX_HOSTS:
        cumulative = itertools.accumulate(map(_capacity, hosts.make_nodes(size, shapes=shapes).values()), _sum)
        for count, total in enumerate(cumulative, 1):
            if all(fill * total[name] >= amount for name, amount in peak.items()):
                return count
        size *= 2
    raise ValueError(f"the trace's peak of {dict(peak)} needs more than {MAX_HOSTS} hosts: use fewer requests")


def _estimate(peak: Amounts, fill: float, shapes: Sequence[hosts.Shape]) -> int:
    """Return an estimate by the first hosts' average, with a margin."""
    capacity: Amounts = functools.reduce(_sum, map(_capacity, hosts.make_nodes(FIRST, shapes=shapes).values()))
    return FIRST + max(math.ceil(1.1 * FIRST * amount / (fill * capacity[name])) for name, amount in peak.items())


def _simulated_capacity() -> Mapping[str, float]:
    """Return the average capacity of a devstack cluster's nodes."""
    shapes: list[Mapping[str, Any]] = list(NODE_SHAPES.values())
    shares = sum(shape["share"] for shape in shapes)
    vcpus = sum(shape["share"] * shape["vcpus"] * shape.get("cpu_allocation_ratio", CPU_RATIO) for shape in shapes)
    return {"VCPU": vcpus / shares, "MEMORY_MB": sum(shape["share"] * shape["memory_mb"] for shape in shapes) / shares}


def _capacity(node: Mapping[str, Any]) -> Amounts:
    return {name: unit["capacity"] for name, unit in node["inventories"].items()}


def _sum(first: Amounts, second: Amounts) -> Amounts:
    return {name: first[name] + second[name] for name in first}
