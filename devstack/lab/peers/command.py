# SPDX-License-Identifier: Apache-2.0
"""lab.sh peers: speed of Nova's scheduler and Placement against gantt's, for the same work."""

import argparse
import contextlib
import itertools
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from devstack import peer_environments
from devstack.lab import default_driver, hosts, partitions, private_servers
from devstack.lab.benchmark import INSTALL, Benchmark, host_count, list_of, option
from devstack.lab.decide import MIX, decision_subject
from devstack.lab.hosts import table
from devstack.lab.peers import side
from devstack.lab.peers.side import PeerFailed, PeerProcess
from devstack.lab.placement.cloud import make_provider
from devstack.lab.rows import ResultRow
from devstack.lab.timing import TimedCalls, TimedSubject, Times, alternate, timed, without_collection
from devstack.peer_environments import NOVA, PLACEMENT
from rpcapi.cli.command import CommandFailed
from rpcapi.resources.claims import Answer
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import Candidate, Intent
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable

MAX_LOAD = 0.9  # highest random load of a host
REQUIRED_FREE = {"VCPU": 16, "MEMORY_MB": 16_384, "DISK_GB": 16}  # free capacity of a host for repeated claims
LIMIT = 1000  # most candidates, as in Nova's requests to Placement
RESOURCES = {"VCPU": 1, "MEMORY_MB": 1024, "DISK_GB": 1}


@dataclass(frozen=True, slots=True)
class PeerWorkload:
    """``size`` unevenly loaded hosts, and requests; the same for the same size."""

    size: int

    @property
    def nodes(self) -> hosts.Nodes:
        return hosts.make_nodes(self.size)

    @property
    def used(self) -> Mapping[str, Mapping[str, int]]:
        return hosts.make_usage(self.nodes, MAX_LOAD)

    def nova_hosts(self) -> list[dict[str, Any]]:
        used = self.used
        return [
            {
                "name": name.replace("/", "-"),
                "total": {resource_class: unit["total"] for resource_class, unit in node["inventories"].items()},
                "used": used[name],
                "cpu_ratio": node["inventories"]["VCPU"]["allocation_ratio"],
            }
            for name, node in self.nodes.items()
        ]

    def providers(self) -> list[dict[str, Any]]:
        """Return the hosts in the form of placement_side.py."""
        used = self.used
        return [
            make_provider(hosts.stable_uuid(name), node["inventories"], used=used[name])
            for name, node in self.nodes.items()
        ]

    def claimable(self) -> list[str]:
        return [
            hosts.stable_uuid(name)
            for (name, node), used in zip(self.nodes.items(), self.used.values(), strict=True)
            if all(
                node["inventories"][resource_class]["capacity"] - used[resource_class] >= amount
                for resource_class, amount in REQUIRED_FREE.items()
            )
        ]

    @staticmethod
    def peer_requests() -> list[dict[str, int]]:
        return [dict(server.request.resources) for server in itertools.islice(hosts.stream(3), MIX)]


def candidates_subject(table: HostTable) -> TimedSubject:
    filters = default_driver.filters()
    requests = [SchedulingRequest("peers", amounts) for amounts in PeerWorkload.peer_requests()]

    def find(number: int) -> Any:
        with table.reading() as view:
            rows = np.flatnonzero(pipeline.run(filters, view, requests[number % len(requests)]).passes)[:LIMIT]
            return [view.name(row) for row in rows.tolist()]

    return find


@contextlib.contextmanager
def claim_subject(workload: PeerWorkload) -> Iterator[TimedSubject]:
    """Yield a subject that claims for a new consumer on the next host, in a private Redis (everysec)."""
    with (
        private_servers.running_redis("everysec") as server,
        partitions.opened(server.url(), "peers") as store,
    ):
        nodes = workload.nodes
        hosts.join(store, nodes)
        names = list(nodes)
        snapshot = store.snapshot()

        def claim(number: int) -> None:
            consumer = str(uuid.uuid4())
            intents = [Intent(consumer, 1, [Candidate(names[number % len(names)])])]
            record = {"driver": "FilterDriver", "seed": number, "hosts": len(names)}
            batch = hosts.claim_batch(snapshot, intents, RESOURCES, record)
            result = store.prepare(batch).prepared[0]
            if result.answer is not Answer.PREPARED:
                raise CommandFailed(f"gantt's claim was answered {result.answer}: {result.verdicts}")

        yield claim


BUDGETS = {1_000: 500.0, 10_000: 2_000.0}  # {number of hosts: Nova's time divided by gantt's}
BLOCK_HOSTS = 5_000  # hosts checked per block of a peer, within bounds
OUR_SIZE = 50
BLOCKS = 6
CLAIMS = 10

DECIDE_NOT_MEASURED = (
    "Nova: loading hosts from its database, building host states (build_p50_ms), querying Placement, claiming, "
    "RPC. Its default filters leave capacity to Placement; ours check capacity as well. Ours: RPC, claiming."
)
CANDIDATES_NOT_MEASURED = (
    "Placement: HTTP, Keystone, a database server (SQLite file, in process); it also returns summaries of each host. "
    "Ours: RPC; it uses no SQL. Both return up to 1,000 hosts."
)
CLAIM_NOT_MEASURED = (
    "Placement: HTTP, Keystone, a database server: SQLite syncs its file at each commit. "
    "Ours: RPC; Redis syncs each second, and the claim is prepared, not confirmed."
)

Measure = Callable[[PeerWorkload, PeerProcess], Iterator[ResultRow]]


class PeersBenchmark(Benchmark):
    """Time Nova's filters and weighers, and Placement's candidates and claims, against gantt's on the same hosts.

    A peer runs in its own virtual environment and process, times itself, and alternates with gantt's calls. Each row
    says what its comparison leaves out.
    """

    ARGUMENTS = (
        option("--hosts", "Numbers of hosts", list_of(host_count), "1000,10000", metavar="N,..."),
        INSTALL,
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        has_measured = False
        if args.install:
            peer_environments.install()
        comparisons: list[tuple[str, str, Measure]] = [
            (NOVA, "nova_side.py", _decide),
            (PLACEMENT, "placement_side.py", _allocate),
        ]
        for peer, script, measure in comparisons:
            command = side.program(script)
            try:
                for size in args.hosts:
                    with side.running(command) as running:
                        yield from measure(PeerWorkload(size), running)
                has_measured = True
            except PeerFailed as why:
                self.say(f"{peer} cannot be measured: {why}")
        if not has_measured:
            raise CommandFailed("No peer could be measured: see above")


def _decide(workload: PeerWorkload, nova: PeerProcess) -> Iterator[ResultRow]:
    summary = nova.ask("prepare", hosts=workload.nova_hosts(), requests=workload.peer_requests())
    size = _block_size(workload)
    times = _compare(nova, "decide", size, decision_subject(table(workload.size, MAX_LOAD)))
    build = sorted(nova.ask("build", first=0, count=size + 2))
    counts = {"filters": summary["filters"], "weighers": summary["weighers"]}
    more = {**counts, "build_p50_ms": 1000 * build[len(build) // 2], "left_out": DECIDE_NOT_MEASURED}
    yield _row(f"decide: {NOVA}", times, workload, BUDGETS.get(workload.size), more)


def _allocate(workload: PeerWorkload, placement: PeerProcess) -> Iterator[ResultRow]:
    providers, claimable = workload.providers(), workload.claimable()
    candidates = placement.ask("prepare", providers=providers, claimable=claimable, requests=workload.peer_requests())
    subject = candidates_subject(table(workload.size, MAX_LOAD))
    times = _compare(placement, "candidates", _block_size(workload), subject)
    more = {"candidates": candidates, "left_out": CANDIDATES_NOT_MEASURED}
    yield _row(f"candidates: {PLACEMENT}", times, workload, None, more)
    with claim_subject(workload) as subject:
        times = _compare(placement, "claim", CLAIMS, subject)
    yield _row(f"claim: {PLACEMENT}", times, workload, None, {"left_out": CLAIM_NOT_MEASURED})


def _block_size(workload: PeerWorkload) -> int:
    return max(1, min(5, BLOCK_HOSTS // workload.size))


def _compare(peer: PeerProcess, verb: str, size: int, subject: TimedSubject) -> dict[str, Times]:
    """Alternate a peer's calls, which the peer times, with gantt's."""

    def ask(first: int, count: int) -> list[float]:
        return [float(seconds) for seconds in peer.ask(verb, first=first, count=count)]

    subjects: dict[str, tuple[TimedCalls, int]] = {"ours": (partial(timed, subject), OUR_SIZE), "theirs": (ask, size)}
    with without_collection():
        return alternate(subjects, blocks=BLOCKS)


def _row(
    name: str, times: Mapping[str, Times], workload: PeerWorkload, budget: float | None, more: Mapping[str, Any]
) -> ResultRow:
    figures: dict[str, float | int | str] = {"hosts": workload.size}
    for side_name in ("theirs", "ours"):
        seconds = times[side_name].seconds
        figures[f"{side_name}_p50_ms"] = times[side_name].p50_us / 1e3
        figures[f"{side_name}_least_ms"] = 1e3 * float(seconds.min())
        figures[f"{side_name}_calls"] = len(seconds)
    ratio = times["theirs"].p50_us / times["ours"].p50_us
    return ResultRow(f"{name} / ours, {workload.size} hosts", ratio, budget, "at least", {**figures, **more})
