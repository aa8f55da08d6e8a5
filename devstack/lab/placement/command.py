# SPDX-License-Identifier: Apache-2.0
"""lab.sh placement: requests of Placement's API to gantt-placement, to Placement and to an empty server."""

import argparse
import contextlib
import itertools
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from devstack import peer_environments
from devstack.lab.benchmark import INSTALL, Benchmark, flag, host_count, names_of, option
from devstack.lab.placement import floor, servers
from devstack.lab.placement.calls import HttpClient, ServerCalls, allocation, rate, reconnecting
from devstack.lab.placement.cloud import CANDIDATES, DEVICE_CANDIDATES, FLAVOR, Cloud
from devstack.lab.placement.servers import GanttPlacement, ServedPlacement
from devstack.lab.rows import ResultRow
from devstack.lab.timing import TimedCalls, Times, alternate
from devstack.servers.redis import AppendFsync
from rpcapi.cli.command import CommandFailed

CANDIDATES_BUDGET, DEVICES_BUDGET = 100.0, 500.0  # Placement's time divided by ours
ALLOCATE_BUDGET, RATE_BUDGET = 30.0, 20.0
EMPTY_BUDGET, BARE_BUDGET = 8.0, 3.0  # gantt's time divided by the time of the least possible work
BUDGET_FROM = 10_000
WORKERS, CLIENTS = 2, 8
BLOCKS = 4
PEER_CLAIMS, LISTS = 10, 4  # calls per block
OUR_SECONDS, PEER_SECONDS = 3.0, 10.0  # seconds of the rates by CLIENTS clients
LIST = "/resource_providers"

Figures = Mapping[str, float | int | str]
ServedCalls = Callable[..., list[float]]  # (server, number of the first call, count) -> seconds of each call


# Redis's appendfsync and MariaDB's innodb_flush_log_at_trx_commit of equal durability of acknowledged writes.
PROMISES: Mapping[str, tuple[AppendFsync, int]] = {"second": ("everysec", 0), "commit": ("always", 1)}


class PlacementBenchmark(Benchmark):
    """Time requests of Placement's API to gantt-placement, to OpenStack Placement, and to an empty server.

    Placement is served by cheroot, which gantt-placement's server extends; the empty server is gantt-placement's
    without an application. All use equally many processes, and stores that sync equally often. Hosts are half full and
    have 20 traits. A write precedes each request for candidates; one answer in a thousand is compared with the store.
    """

    ARGUMENTS = (
        option("--hosts", "Flat hosts", host_count, 10_000),
        option("--sync", "When stores sync", names_of(PROMISES, "a moment of a sync"), ",".join(PROMISES), "NAME,..."),
        option("--calls", "Per block", default=50),
        flag("--alone", "Without Placement: beside the server that does nothing only."),
        INSTALL,
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        if args.install:
            peer_environments.install()
        if not args.alone:
            peer_environments.python()  # fail before anything is started
        cloud = Cloud(args.hosts)
        for name in args.sync:
            fsync, flush = PROMISES[name]
            with contextlib.ExitStack() as stack:
                gantt = stack.enter_context(servers.run_gantt(cloud, WORKERS, fsync))
                placement = None
                if not args.alone:
                    placement = stack.enter_context(servers.run_placement(cloud, WORKERS, flush))
                yield from _Comparison(cloud, gantt, placement, calls=args.calls, promise=name).measure()


class _Comparison:
    def __init__(
        self,
        cloud: Cloud,
        gantt: GanttPlacement,
        placement: ServedPlacement | None,
        *,
        calls: int,
        promise: str,
    ) -> None:
        self._cloud, self._gantt, self._placement = cloud, gantt, placement
        self._calls, self._promise = calls, promise

    def measure(self) -> Iterator[ResultRow]:
        with contextlib.ExitStack() as stack:
            self._served = self._connect(stack, self._gantt)
            self._peer = None if self._placement is None else self._connect(stack, self._placement)
            ask, size = ServerCalls.candidates, self._calls
            yield from self._get("candidates", CANDIDATES, ask, size, budgets=(CANDIDATES_BUDGET, EMPTY_BUDGET))
            yield from self._get(
                "candidates for five devices", DEVICE_CANDIDATES, ask, size, budgets=(DEVICES_BUDGET, None)
            )
            yield from self._allocations()
            memory = {"kb_per_provider": self._gantt.bytes_per_provider / 1e3}
            yield from self._get("list of providers", LIST, ServerCalls.get, LISTS, figures=memory)
        if self._placement is not None:
            yield self._rates(self._placement)

    def _connect(self, stack: contextlib.ExitStack, server: GanttPlacement | ServedPlacement) -> ServerCalls:
        return stack.enter_context(contextlib.closing(ServerCalls(server.port, self._cloud.flat, server.used)))

    def _get(
        self,
        question: str,
        path: str,
        calls: ServedCalls,
        size: int,
        *,
        budgets: tuple[float | None, float | None] = (None, None),
        figures: Figures | None = None,
    ) -> Iterator[ResultRow]:
        body = self._served.read(path)
        with _empty_server(body) as client:
            least = reconnecting(client, lambda: client.get(path))
            times = self._alternate(partial(calls, path=path), least, size, 1)
        yield from self._rows(question, times, budgets, {"answer_kb": len(body) / 1e3, **(figures or {})})

    def _allocations(self) -> Iterator[ResultRow]:
        hosts, store = itertools.cycle(self._cloud.flat), self._gantt.store
        with _empty_server(b"{}") as client:

            def allocate() -> None:
                """Send a request that the empty server ignores, and write its allocation directly: the least work."""
                host = next(hosts)
                client.put(f"/allocations/{uuid.uuid4()}", json.dumps(allocation(host, FLAVOR)).encode())
                if refusal := store.allocate([servers.allocation_change(str(uuid.uuid4()), host, FLAVOR)]):
                    raise CommandFailed(f"The store refused an allocation: {refusal}")

            times = self._alternate(ServerCalls.allocate, reconnecting(client, allocate), self._calls, PEER_CLAIMS)
        yield from self._rows("PUT allocations", times, (ALLOCATE_BUDGET, BARE_BUDGET), {})

    def _alternate(self, calls: ServedCalls, least: TimedCalls, size: int, peer_size: int) -> dict[str, Times]:
        """Time the same calls of each server; ``peer_size`` is the number of Placement's calls per block."""
        subjects: dict[str, tuple[TimedCalls, int]] = {
            "ours": (partial(calls, self._served), size),
            "least": (least, size),
        }
        if self._peer is not None:
            subjects["theirs"] = (partial(calls, self._peer), peer_size)
        return alternate(subjects, blocks=BLOCKS)

    def _rows(
        self,
        question: str,
        times: Mapping[str, Times],
        budgets: tuple[float | None, float | None],
        figures: Figures,
    ) -> Iterator[ResultRow]:
        figures = {**{f"{name}_p50_ms": measured.p50_us / 1e3 for name, measured in times.items()}, **figures}
        ours_us = times["ours"].p50_us
        budget, least_budget = budgets if self._cloud.hosts >= BUDGET_FROM else (None, None)
        name = f"{question}, {self._cloud.hosts} hosts, sync each {self._promise}"
        if "theirs" in times:
            ratio = times["theirs"].p50_us / ours_us
            yield ResultRow(f"{name}: Placement / ours", ratio, budget, "at least", figures)
        ratio = ours_us / times["least"].p50_us
        yield ResultRow(f"{name}: ours / least", ratio, least_budget, "at most", figures)

    def _rates(self, placement: ServedPlacement) -> ResultRow:
        rates = {
            name: rate(server.port, server.pids, self._cloud.flat, CLIENTS, seconds)
            for name, server, seconds in (("ours", self._gantt, OUR_SECONDS), ("theirs", placement, PEER_SECONDS))
        }
        figures = {f"{name}_{key}": value for name, measured in rates.items() for key, value in measured.items()}
        return ResultRow(
            f"PUT allocations by {CLIENTS} clients a processor second, sync each {self._promise}: ours / Placement",
            rates["ours"]["per_processor_s"] / rates["theirs"]["per_processor_s"],
            RATE_BUDGET,
            "at least",
            figures,
        )


@contextlib.contextmanager
def _empty_server(body: bytes) -> Iterator[HttpClient]:
    with floor.running(body, WORKERS) as port, contextlib.closing(HttpClient(port)) as client:
        yield client
