# SPDX-License-Identifier: Apache-2.0
"""Requests of a trace by arrival time, a summary of the trace, and the hosts that it needs."""

import functools
import heapq
import itertools
import math
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from devstack.confs import NODE_SHAPES
from devstack.lab import hosts
from devstack.lab.benchmark import MAX_HOSTS
from devstack.lab.replay.trace import Trace, TraceServer
from devstack.workload import TraceError
from rpcapi.resources.claims import MAX_INSTANCES
from scheduler_svc.core.records import Amounts

ServerShape = tuple[int, int]  # virtual CPUs, memory in MB

FIRST = 64
CPU_RATIO = 4.0  # default of simulated nodes whose shape sets none


@dataclass(frozen=True, slots=True)
class ReplayServer:
    """Server of a request: its number in the trace and its end."""

    number: int
    ends: float | None

    @property
    def consumer(self) -> str:
        return str(uuid.UUID(int=self.number + 1, version=4))


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """Request for servers of one shape, placed together or not at all."""

    shape: ServerShape
    members: tuple[ReplayServer, ...]
    seed: int = 1

    @property
    def id(self) -> str:
        """Request id, which seeds every driver equally."""
        return f"req-replay-{self.seed}-{self.members[0].number}"

    @property
    def resources(self) -> Amounts:
        return amounts(self.shape)


@dataclass(frozen=True, slots=True)
class ArrivalBatch:
    """Requests that arrive in the same second of the trace."""

    at: float
    requests: tuple[ReplayRequest, ...]


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Servers, first and last arrival in seconds, peak usage, most common shape."""

    servers: int
    begins: float
    ends: float
    peak: Amounts
    commonest: ServerShape


def amounts(shape: ServerShape) -> Amounts:
    return {"VCPU": shape[0], "MEMORY_MB": shape[1]}


def arrival_batches(trace: Trace, limit: int | None, together: bool, seed: int = 1) -> Iterator[ArrivalBatch]:
    """Yield the first ``limit`` servers by arrival, one per request or (``together``) per batch and shape."""
    numbered = enumerate(itertools.islice(trace.servers(), limit))
    for at, arriving in itertools.groupby(numbered, lambda item: item[1].arrives):
        yield ArrivalBatch(at, tuple(_requests(arriving, together, seed)))


def _requests(arriving: Iterator[tuple[int, TraceServer]], together: bool, seed: int) -> Iterator[ReplayRequest]:
    def group_key(item: tuple[int, TraceServer]) -> tuple[object, ...]:
        number, server = item
        return (server.batch, server.vcpus, server.memory_mb, None if together else number)

    for (_batch, vcpus, memory_mb, _), group in itertools.groupby(arriving, group_key):
        members = [ReplayServer(number, server.ends) for number, server in group]
        for start in range(0, len(members), MAX_INSTANCES):
            servers = tuple(members[start : start + MAX_INSTANCES])
            yield ReplayRequest((vcpus, memory_mb), servers, seed)  # type: ignore[arg-type]


def summarize(trace: Trace, limit: int | None) -> TraceSummary:
    running: list[tuple[float, int, int]] = []
    shapes: Counter[ServerShape] = Counter()
    vcpus = memory = most_vcpus = most_memory = 0
    begins = ends = 0.0
    for server in itertools.islice(trace.servers(), limit):
        if not shapes:
            begins = server.arrives
        ends = server.arrives
        while running and running[0][0] <= server.arrives:
            _, ended_vcpus, ended_memory = heapq.heappop(running)
            vcpus, memory = vcpus - ended_vcpus, memory - ended_memory
        vcpus, memory = vcpus + server.vcpus, memory + server.memory_mb
        most_vcpus, most_memory = max(most_vcpus, vcpus), max(most_memory, memory)
        if server.ends is not None:
            heapq.heappush(running, (server.ends, server.vcpus, server.memory_mb))
        shapes[server.vcpus, server.memory_mb] += 1
    if not shapes:
        raise TraceError(f"The trace {trace.name} contains no request.")
    # Take the smallest of equally common shapes, whatever the order of the rows.
    commonest = min(shapes, key=lambda shape: (-shapes[shape], shape))
    return TraceSummary(shapes.total(), begins, ends, amounts((most_vcpus, most_memory)), commonest)


def required_hosts(
    peak: Amounts, fill: float, shapes: Sequence[hosts.Shape] = hosts.SHAPES, *, seed: int = 1, cluster: bool = False
) -> int:
    """Return the fewest hosts whose scarcer class ``peak`` fills to at most the share ``fill``. Raises ValueError."""
    if cluster:
        node_capacity = _simulated_capacity()
        return max(1, *(math.ceil(amount / fill / node_capacity[name]) for name, amount in peak.items()))
    size = _estimate(peak, fill, shapes)
    while size <= MAX_HOSTS:
        cumulative = itertools.accumulate(map(_capacity, hosts.make_nodes(size, seed, shapes).values()), _sum)
        for count, total in enumerate(cumulative, 1):
            if all(fill * total[name] >= amount for name, amount in peak.items()):
                return count
        size *= 2
    raise ValueError(f"the trace's peak of {dict(peak)} needs more than {MAX_HOSTS} hosts: use fewer requests")


def _estimate(peak: Amounts, fill: float, shapes: Sequence[hosts.Shape]) -> int:
    capacity: Amounts = functools.reduce(_sum, map(_capacity, hosts.make_nodes(FIRST, shapes=shapes).values()))
    return FIRST + max(math.ceil(1.1 * FIRST * amount / (fill * capacity[name])) for name, amount in peak.items())


def _simulated_capacity() -> Mapping[str, float]:
    shapes: list[Mapping[str, Any]] = list(NODE_SHAPES.values())
    shares = sum(shape["share"] for shape in shapes)
    vcpus = sum(shape["share"] * shape["vcpus"] * shape.get("cpu_allocation_ratio", CPU_RATIO) for shape in shapes)
    return {"VCPU": vcpus / shares, "MEMORY_MB": sum(shape["share"] * shape["memory_mb"] for shape in shapes) / shares}


def _capacity(node: Mapping[str, Any]) -> Amounts:
    return {name: unit["capacity"] for name, unit in node["inventories"].items()}


def _sum(first: Amounts, second: Amounts) -> Amounts:
    return {name: first[name] + second[name] for name in first}
