# SPDX-License-Identifier: Apache-2.0
"""Result rows of server bursts, scheduled by gantt or by nova-scheduler and Placement."""

import contextlib
import itertools
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devstack.lab.nova.paired_cloud import OURS, THEIRS
from devstack.lab.private_servers import started
from devstack.lab.rows import Bound, ResultRow
from devstack.nova import records
from devstack.nova.client import NovaClient, wait_until
from devstack.nova.cloud import NovaCloud
from devstack.nova.confs import CELL_DATABASE
from devstack.nova.size import CloudSize
from devstack.servers.errors import ServerNotReady

HOSTS = 4
GROUP = HOSTS  # members of a group, one per host
SERVERS_PER_GROUP = 20  # servers per group of a large burst
MOST_ON_ONE_HOST = 8  # of SPREAD_SERVERS on equal hosts
SPREAD_SERVERS = 20
ACTIVE = "ACTIVE"
# Capacity for 400 servers of the flavor, twice the largest burst.
VCPUS, MEMORY_MB, DISK_GB = 100, 51_200, 400
FLAVOR, FLAVOR_MEMORY_MB = "burst", 512
LARGEST = 200
CLIENTS = 20
BURST_SECONDS = 1800.0
SETTLE_SECONDS = 60.0
STATES = (ACTIVE, "ERROR")
PLACEMENTS, SCHEDULERS = {OURS: "gantt", THEIRS: "placement"}, {OURS: "gantt", THEIRS: "nova"}
ALL_SERVERS = "/servers/detail?limit=1000"
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


class BurstCloud(NovaCloud):
    """Cloud of one side with HOSTS equal computes and ``schedulers`` scheduler processes."""

    def __init__(self, folder: Path, side: str, schedulers: int) -> None:
        sizes = HOSTS, VCPUS, MEMORY_MB, DISK_GB
        super().__init__(folder, CloudSize(*sizes, PLACEMENTS[side], SCHEDULERS[side], schedulers))
        self.nova = self._patient_client()

    def start(self) -> None:
        super().start()
        self.nova.create_flavor(FLAVOR, vcpus=1, memory_mb=FLAVOR_MEMORY_MB, disk_gb=1)

    def boot(self, burst: ServerBurst) -> BurstResult:
        """Boot a burst by CLIENTS clients within BURST_SECONDS, then delete it. Raises ServerNotReady."""
        groups = [self._create_group() for _ in range(burst.groups)]
        members: list[int | None] = [number for number in range(burst.groups) for _ in range(GROUP)]
        members += [None] * (burst.servers - len(members))
        began = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as pool:
            hints = [{} if number is None else {"group": groups[number]} for number in members]
            uuids = list(pool.map(self._request, itertools.count(), hints))
        with contextlib.suppress(ServerNotReady):
            wait_until(lambda: self._are_settled(uuids), f"a burst of {burst.servers}", BURST_SECONDS)
        seconds = time.monotonic() - began
        records_by_uuid = self._servers()
        servers = [
            BootedServer(records_by_uuid[key]["status"], records_by_uuid[key]["OS-EXT-SRV-ATTR:host"], group)
            for key, group in zip(uuids, members, strict=True)
        ]
        attempts = records.build_attempts(self.parts.urls.databases[CELL_DATABASE], uuids)
        result = BurstResult(
            servers, seconds, sum(max(0, count - 1) for count in attempts.values()), self._leaks(), self._oversold()
        )
        self._delete(uuids, groups)
        return result

    def _patient_client(self) -> NovaClient:
        """Return a client with the timeout of a whole burst, because nova-api may wait for a busy Placement."""
        return NovaClient(self.url("api"), seconds=BURST_SECONDS)

    def _create_group(self) -> str:
        body = {"name": str(uuid.uuid4()), "policy": "anti-affinity"}
        key: str = self.nova.call("POST", "/os-server-groups", {"server_group": body})["server_group"]["id"]
        return key

    def _request(self, number: int, hints: dict[str, Any]) -> str:
        return self._patient_client().boot(f"burst{number}", FLAVOR, hints)

    def _servers(self) -> dict[str, dict[str, Any]]:
        return {server["id"]: server for server in self.nova.get(ALL_SERVERS)["servers"]}

    def _are_settled(self, uuids: Sequence[str]) -> bool:
        servers = self._servers()
        return all(
            key in servers and servers[key]["status"] in STATES and servers[key]["OS-EXT-STS:task_state"] is None
            for key in uuids
        )

    def _leaks(self) -> int:
        """Return how many consumers' allocations differ from Nova's records even after SETTLE_SECONDS."""
        with contextlib.suppress(ServerNotReady):
            wait_until(lambda: not self.differences(), "equal allocations", SETTLE_SECONDS)
        return len(self.differences())

    def _oversold(self) -> int:
        placement, oversold = self.placement, 0
        for provider in placement.providers():
            inventories = placement.get(f"/resource_providers/{provider['uuid']}/inventories")["inventories"]
            for name, amount in placement.usages(provider["uuid"]).items():
                oversold += max(0, amount - inventories[name]["total"])
        return oversold

    def _delete(self, uuids: Sequence[str], groups: Sequence[str]) -> None:
        for key in uuids:
            self.nova.delete(f"/servers/{key}")
        wait_until(lambda: not self.nova.get(ALL_SERVERS)["servers"], "the end of a burst", BURST_SECONDS)
        for key in groups:
            self.nova.delete(f"/os-server-groups/{key}")


def running(side: str, schedulers: int) -> AbstractContextManager[BurstCloud]:
    return started(lambda folder: BurstCloud(folder, side, schedulers), BurstCloud.start, BurstCloud.destroy)


RunSide = Callable[[str, int], AbstractContextManager[BurstCloud]]  # (side, number of schedulers)


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
