# SPDX-License-Identifier: Apache-2.0
"""What a trace asks for, moment by moment, and what it amounts to in all."""

import heapq
import itertools
import uuid
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from devstack.lab.replay.trace import Server, Trace
from devstack.workload import TraceError
from scheduler_svc.deciding.select import CHUNK
from scheduler_svc.store.records import Amounts

Shape = tuple[int, int]  # virtual CPUs, memory in MB


@dataclass(frozen=True, slots=True)
class Member:
    """One server of a request: its number in the trace, from 0, and when it leaves."""

    number: int
    ends: float | None

    @property
    def consumer(self) -> str:
        """Its uuid, which only the number decides."""
        return str(uuid.UUID(int=self.number + 1, version=4))


@dataclass(frozen=True, slots=True)
class Wanted:
    """One request: servers of one shape that are placed together or not at all."""

    shape: Shape
    members: tuple[Member, ...]

    @property
    def id(self) -> str:
        """The request id: it seeds what is left to chance, the same for every driver."""
        return f"req-replay-{self.members[0].number}"

    @property
    def resources(self) -> Amounts:
        """What each of its servers takes."""
        return amounts(self.shape)


@dataclass(frozen=True, slots=True)
class Moment:
    """All that arrives at one time of the trace, in seconds."""

    at: float
    wanted: tuple[Wanted, ...]


@dataclass(frozen=True, slots=True)
class Survey:
    """What a trace amounts to: its servers, its span in seconds, the most in use at once, the commonest shape."""

    servers: int
    begins: float
    ends: float
    peak: Amounts
    commonest: Shape


def amounts(shape: Shape) -> Amounts:
    """Return a shape by resource class."""
    return {"VCPU": shape[0], "MEMORY_MB": shape[1]}


def moments(trace: Trace, limit: int | None, together: bool) -> Iterator[Moment]:
    """Yield the first ``limit`` servers by time; a request each, or with ``together`` one for alike ones of a batch."""
    numbered = enumerate(itertools.islice(trace.servers(), limit))
    for at, arriving in itertools.groupby(numbered, lambda each: each[1].arrives):
        yield Moment(at, tuple(_requests(arriving, together)))


def _requests(arriving: Iterator[tuple[int, Server]], together: bool) -> Iterator[Wanted]:
    def kind(each: tuple[int, Server]) -> tuple[object, ...]:
        number, server = each
        return (server.batch, server.vcpus, server.memory_mb, None if together else number)

    for (_batch, vcpus, memory_mb, _), alike in itertools.groupby(arriving, kind):
        members = [Member(number, server.ends) for number, server in alike]
        for start in range(0, len(members), CHUNK):
            yield Wanted((vcpus, memory_mb), tuple(members[start : start + CHUNK]))  # type: ignore[arg-type]


def survey(trace: Trace, limit: int | None) -> Survey:
    """Go through the trace once, which also finds what is malformed in it; raises TraceError."""
    running: list[tuple[float, int, int]] = []
    shapes: Counter[Shape] = Counter()
    vcpus = memory = most_vcpus = most_memory = 0
    begins = ends = 0.0
    for server in itertools.islice(trace.servers(), limit):
        if not shapes:
            begins = server.arrives
        ends = server.arrives
        while running and running[0][0] <= server.arrives:
            _, gone_vcpus, gone_memory = heapq.heappop(running)
            vcpus, memory = vcpus - gone_vcpus, memory - gone_memory
        vcpus, memory = vcpus + server.vcpus, memory + server.memory_mb
        most_vcpus, most_memory = max(most_vcpus, vcpus), max(most_memory, memory)
        if server.ends is not None:
            heapq.heappush(running, (server.ends, server.vcpus, server.memory_mb))
        shapes[server.vcpus, server.memory_mb] += 1
    if not shapes:
        raise TraceError(f"The trace {trace.name} holds no request.")
    # Of equally common shapes the smallest, so that nothing depends on the order of the rows.
    commonest = min(shapes, key=lambda shape: (-shapes[shape], shape))
    return Survey(shapes.total(), begins, ends, amounts((most_vcpus, most_memory)), commonest)
