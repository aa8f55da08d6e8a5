# SPDX-License-Identifier: Apache-2.0
"""The requests of a trace by time of arrival, and a summary of the trace."""

import heapq
import itertools
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from devstack.lab.replay.trace import Trace, TraceServer
from devstack.workload import TraceError
from rpcapi.resources.claims import MAX_INSTANCES
from scheduler_svc.core.records import Amounts

ServerShape = tuple[int, int]  # virtual CPUs, memory in MB


@dataclass(frozen=True, slots=True)
class ReplayServer:
    """One server of a request: its number in the trace, from 0, and when it ends."""

    number: int
    ends: float | None

    @property
    def consumer(self) -> str:
        """The server's uuid, derived from its number."""
        return str(uuid.UUID(int=self.number + 1, version=4))


@dataclass(frozen=True, slots=True)
class ReplayRequest:
    """A request for servers of one shape, placed together or not at all."""

    shape: ServerShape
    members: tuple[ReplayServer, ...]

    @property
    def id(self) -> str:
        """The request id: it is also the random seed, the same for every driver."""
        return f"req-replay-{self.members[0].number}"

    @property
    def resources(self) -> Amounts:
        """Resources of each server."""
        return amounts(self.shape)


@dataclass(frozen=True, slots=True)
class ArrivalBatch:
    """All requests that arrive at one time of the trace, in seconds."""

    at: float
    requests: tuple[ReplayRequest, ...]


@dataclass(frozen=True, slots=True)
class TraceSummary:
    """Summary of a trace: servers, first and last arrival in seconds, peak usage, most common shape."""

    servers: int
    begins: float
    ends: float
    peak: Amounts
    commonest: ServerShape


def amounts(shape: ServerShape) -> Amounts:
    """Return a shape by resource class."""
    return {"VCPU": shape[0], "MEMORY_MB": shape[1]}


def arrival_batches(trace: Trace, limit: int | None, together: bool) -> Iterator[ArrivalBatch]:
    """Yield the first ``limit`` servers by arrival, one per request; ``together``: one request per batch and shape."""
    numbered = enumerate(itertools.islice(trace.servers(), limit))
    for at, arriving in itertools.groupby(numbered, lambda item: item[1].arrives):
        yield ArrivalBatch(at, tuple(_requests(arriving, together)))


def _requests(arriving: Iterator[tuple[int, TraceServer]], together: bool) -> Iterator[ReplayRequest]:
    def group_key(item: tuple[int, TraceServer]) -> tuple[object, ...]:
        number, server = item
        return (server.batch, server.vcpus, server.memory_mb, None if together else number)

    for (_batch, vcpus, memory_mb, _), group in itertools.groupby(arriving, group_key):
        members = [ReplayServer(number, server.ends) for number, server in group]
        for start in range(0, len(members), MAX_INSTANCES):
            servers = tuple(members[start : start + MAX_INSTANCES])
            yield ReplayRequest((vcpus, memory_mb), servers)  # type: ignore[arg-type]


def summarize(trace: Trace, limit: int | None) -> TraceSummary:
    """Read the whole trace and summarize it; raises TraceError if it is malformed."""
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
    # Of equally common shapes the smallest, independent of the order of the rows.
    commonest = min(shapes, key=lambda shape: (-shapes[shape], shape))
    return TraceSummary(shapes.total(), begins, ends, amounts((most_vcpus, most_memory)), commonest)
