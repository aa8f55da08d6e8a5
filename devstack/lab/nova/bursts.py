# SPDX-License-Identifier: Apache-2.0
"""Result rows of server bursts, scheduled by gantt or by nova-scheduler and Placement."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from devstack.lab.nova.paired_cloud import OURS, THEIRS
from devstack.lab.rows import Bound, ResultRow

if TYPE_CHECKING:
    from devstack.lab.nova.burst_cloud import BurstCloud

HOSTS = 4
GROUP = HOSTS  # members of a group, one per host
SERVERS_PER_GROUP = 20  # servers per group of a large burst
MOST_ON_ONE_HOST = 8  # of SPREAD_SERVERS on equal hosts
SPREAD_SERVERS = 20
ACTIVE = "ACTIVE"
FAULTS = ("refused", "leaks", "oversold", "group_violations")  # must be 0 for gantt, whatever Nova does


@dataclass(frozen=True, slots=True)
class ServerBurst:
    """Servers requested together, the first of them as members of ``groups`` anti-affinity groups."""

    servers: int
    groups: int = 0


WARM_UP = ServerBurst(HOSTS)
SPREAD = ServerBurst(SPREAD_SERVERS)
ONE_GROUP = ServerBurst(GROUP, groups=1)


@dataclass(frozen=True, slots=True)
class BootedServer:
    status: str
    host: str | None
    group: int | None = None


@dataclass(frozen=True, slots=True)
class BurstResult:
    """Result of a burst; ``leaks`` are consumers with wrong allocations, ``oversold`` is units above the capacity."""

    servers: Sequence[BootedServer]
    seconds: float
    reschedules: int
    leaks: int
    oversold: int

    @property
    def active(self) -> int:
        return sum(server.status == ACTIVE for server in self.servers)

    @property
    def refused(self) -> int:
        """Servers that were not ACTIVE in time, although all fit twice."""
        return len(self.servers) - self.active

    @property
    def violations(self) -> int:
        """Group members on a host with another member of their group."""
        members = Counter((server.group, server.host) for server in self.servers if self._is_member(server))
        return sum(count - 1 for count in members.values())

    @property
    def most(self) -> int:
        hosts = Counter(server.host for server in self.servers if server.status == ACTIVE)
        return max(hosts.values(), default=0)

    @property
    def group_hosts(self) -> int:
        """Number of hosts with members of a group, summed over all groups."""
        return len({(server.group, server.host) for server in self.servers if self._is_member(server)})

    def figures(self) -> dict[str, float]:
        return {
            "per_s": self.active / self.seconds,
            "seconds": self.seconds,
            "refused": self.refused,
            "leaks": self.leaks,
            "oversold": self.oversold,
            "group_violations": self.violations,
            "reschedules": self.reschedules,
            "most_on_one_host": self.most,
            "group_hosts": self.group_hosts,
        }

    @staticmethod
    def _is_member(server: BootedServer) -> bool:
        return server.group is not None and server.status == ACTIVE


RunSide = Callable[[str, int], AbstractContextManager["BurstCloud"]]  # (side, number of schedulers)


def bursts(sizes: Sequence[int]) -> Sequence[ServerBurst]:
    return [SPREAD, ONE_GROUP, *(ServerBurst(size, groups=size // SERVERS_PER_GROUP) for size in sizes)]


def measure(
    run_side: RunSide, sizes: Sequence[int], schedulers: Sequence[int], sides: Sequence[str] = (THEIRS, OURS)
) -> Iterator[ResultRow]:
    """Yield the rows per number of schedulers; without Nova's side only gantt's."""
    for number in schedulers:
        results: dict[str, list[BurstResult]] = {}
        for side in sides:
            with run_side(side, number) as cloud:
                cloud.boot(WARM_UP)
                results[side] = [cloud.boot(burst) for burst in bursts(sizes)]
        for position, burst in enumerate(bursts(sizes)):
            yield from _rows(burst, number, {side: side_results[position] for side, side_results in results.items()})


def _rows(burst: ServerBurst, schedulers: int, results: Mapping[str, BurstResult]) -> Iterator[ResultRow]:
    name = f"burst of {burst.servers} in {burst.groups} groups, schedulers: {schedulers}"
    figures = {side: result.figures() for side, result in results.items()}

    def row(question: str, keys: Sequence[str], ratio: float, budget: float | None, bound: Bound) -> ResultRow:
        values = {f"{side}_{key}": figures[side][key] for key in keys for side in figures}
        return ResultRow(f"{name}: {question}", ratio, budget, bound, values)

    if THEIRS in results:
        rates = {side: result.active / result.seconds for side, result in results.items()}
        ratio = rates[OURS] / rates[THEIRS] if rates[THEIRS] else 0.0
        yield row("servers a second, ours / Nova's", ("per_s", "seconds"), ratio, None, "at least")
    broken = sum(figures[OURS][key] for key in FAULTS)
    yield row(", ".join(FAULTS).replace("_", " "), FAULTS, broken, 0, "at most")
    most = results[THEIRS].reschedules if THEIRS in results else None
    yield row("reschedules", ("reschedules",), results[OURS].reschedules, most, "at most")
    if burst == SPREAD:
        yield row("most on one host", ("most_on_one_host",), results[OURS].most, MOST_ON_ONE_HOST, "at most")
    if burst == ONE_GROUP:
        yield row(f"hosts of a group of {GROUP}", ("group_hosts",), results[OURS].group_hosts, GROUP, "at least")
