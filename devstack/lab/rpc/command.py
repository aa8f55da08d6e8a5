# SPDX-License-Identifier: Apache-2.0
"""gantt-lab rpc: cost of select_destinations over the bus, claims included, against an empty call."""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

from devstack.cluster_size import ClusterSize
from devstack.confs import PARTITION
from devstack.lab import hosts
from devstack.lab.benchmark import Benchmark, host_count, positive, up_to
from devstack.lab.rows import ResultRow
from devstack.lab.rpc import deployment
from devstack.lab.rpc.callers import CallBlock, Callers, CallStatistics, run_callers
from devstack.lab.rpc.client_calls import ECHO
from devstack.lab.timing import interleave
from scheduler_svc.store.interface import Store
from scheduler_svc.store.redis import RedisStore

RATE_BUDGET = 0.7  # share of the empty call's rate, for single selections on RabbitMQ
BATCH_BUDGET, BUDGET_BATCH = 10.0, 100  # placements per second relative to single selections, at this many per call
BUDGET_FROM = 10_000
BLOCKS = 8

seconds = up_to(600, "a number of seconds")


def counts(text: str) -> list[int]:
    """Parse whole numbers separated by commas; for argparse."""
    return sorted({positive(part) for part in text.split(",")})


@dataclass(frozen=True, slots=True)
class RpcSetting:
    """Parameters of one set of rows."""

    bus: str
    workers: int
    hosts: int

    @property
    def has_budget(self) -> bool:
        """Whether the budgets apply."""
        return self.bus == "rabbit" and self.hosts >= BUDGET_FROM


class RpcBenchmark(Benchmark):
    """Time select_destinations over a real bus, claims included, against an empty call on it.

    Runs a private bus and store, gantt-scheduler with its workers as deployed, and an echo daemon with as many workers;
    each client process sends its next call when the last one is answered. Echo calls and selections alternate.
    """

    pictures: ClassVar[bool] = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--hosts", type=host_count, default=10_000, metavar="N", help="Hosts (%(default)s).")
        parser.add_argument(
            "--batch", type=counts, default=[1, 10, 100], metavar="N,...", help="Instances per call (1,10,100)."
        )
        parser.add_argument(
            "--workers",
            type=counts,
            default=[1, 2],
            metavar="N,...",
            help="Scheduler workers (1,2), one after the other.",
        )
        parser.add_argument("--clients", type=positive, default=8, metavar="N", help="Client processes (%(default)s).")
        parser.add_argument(
            "--bus", choices=[*deployment.MODES, "both"], default="both", help="Message bus (%(default)s)."
        )
        parser.add_argument(
            "--fsync", choices=["no", "everysec", "always"], default="everysec", help="Of the store (%(default)s)."
        )
        parser.add_argument(
            "--executor", choices=["eventlet", "threading"], default="eventlet", help="Of the workers (%(default)s)."
        )
        parser.add_argument(
            "--seconds",
            type=seconds,
            default=1.0,
            metavar="S",
            help=f"Length of each of {BLOCKS} blocks (%(default)s).",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        nodes = hosts.make_nodes(args.hosts)
        sizes = [ECHO, *sorted({1, *args.batch})]
        rows: list[ResultRow] = []
        buses = deployment.buses(args.bus)
        with self.bar((BLOCKS + 1) * len(buses) * len(args.workers), "calling", args) as bar:
            for bus in buses:
                size = ClusterSize(mode=deployment.MODES[bus], executor=args.executor)
                with (
                    deployment.running(size, args.fsync, {"scheduler": deployment.LONG_TIMEOUTS}) as private_cluster,
                    run_callers(private_cluster.bus_url, args.clients) as callers,
                    closing(RedisStore(private_cluster.store_url, PARTITION)) as store,
                ):
                    store.check_identity()
                    hosts.join(store, nodes)
                    for workers in args.workers:
                        before = sum(store.counts().values())
                        private_cluster.start_echo(workers)
                        private_cluster.start_scheduler(workers)
                        blocks = _run_blocks(callers, sizes, args.seconds, bar.update)
                        private_cluster.stop_daemons()
                        rows += _rows(RpcSetting(bus, workers, args.hosts), blocks)
                        rows.append(account(RpcSetting(bus, workers, args.hosts), blocks, store, before))
        return rows

    def draw(self, figure: Any, rows: Sequence[ResultRow]) -> None:
        axes = figure.subplots()
        curves: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in rows:
            if "batch" in row.figures:
                curves[f"{row.figures['bus']}, {row.figures['workers']} workers"].append(row.figures)
        for label, points in curves.items():
            batches = [point["batch"] for point in points]
            axes.plot(batches, [point["placements_per_s"] for point in points], "o-", label=label)
        axes.set(xscale="log", yscale="log", xlabel="instances per call", ylabel="placements per second")
        axes.legend()
        axes.grid(which="both", alpha=0.3)


def _run_blocks(callers: Callers, sizes: Sequence[int], seconds: float, tick: Any) -> dict[int, list[CallBlock]]:
    """Return the blocks of each batch size, the warm-up block included: its claims are verified too."""
    blocks: dict[int, list[CallBlock]] = {size: [] for size in sizes}

    def subject(size: int) -> Any:
        return lambda number: blocks[size].append(callers.call_for(size, seconds))

    interleave({str(size): subject(size) for size in sizes}, blocks=BLOCKS, size=1, tick=tick)
    return blocks


def _rows(setting: RpcSetting, blocks: Mapping[int, Sequence[CallBlock]]) -> Iterator[ResultRow]:
    statistics = {size: CallStatistics(blocks[1:]) for size, blocks in blocks.items()}
    echo, single = statistics[ECHO], statistics[1]
    for size, selection in statistics.items():
        if size == ECHO:
            continue
        name = f"select of {size}, {setting.bus}, {setting.workers} workers"
        ratio = selection.per_second / echo.per_second if size == 1 else size * selection.per_second / single.per_second
        budget = {1: RATE_BUDGET, BUDGET_BATCH: BATCH_BUDGET}.get(size) if setting.has_budget else None
        figures: dict[str, float | int | str] = {
            "bus": setting.bus,
            "workers": setting.workers,
            "batch": size,
            "calls_per_s": selection.per_second,
            "placements_per_s": selection.per_second * size,
            "p50_ms": selection.percentile_ms(50),
            "p99_ms": selection.percentile_ms(99),
            "processor_ms": selection.processor_ms,
            "echo_calls_per_s": echo.per_second,
            "echo_p50_ms": echo.percentile_ms(50),
            "echo_p99_ms": echo.percentile_ms(99),
            "echo_processor_ms": echo.processor_ms,
        }
        yield ResultRow(name, ratio, budget, "at least", figures)


def account(
    setting: RpcSetting, blocks: Mapping[int, Sequence[CallBlock]], store: Store, claims_before: int
) -> ResultRow:
    """Return the number of faulty claims: over capacity, with inconsistent sums, or not matching the answers."""
    answered_claims = sum(
        size * (block.calls - block.refusals) for size, size_blocks in blocks.items() for block in size_blocks
    )
    verification = store.verify()
    claims = sum(verification.claims.values()) - claims_before
    faults = len(verification.excess) + len(verification.problems) + abs(claims - answered_claims)
    figures = {
        "claims": claims,
        "answered": answered_claims,
        "refused_calls": sum(block.refusals for size_blocks in blocks.values() for block in size_blocks),
        "overcommit": len(verification.excess) + len(verification.problems),
    }
    return ResultRow(f"claims amiss, {setting.bus}, {setting.workers} workers", faults, 0, figures=figures)
