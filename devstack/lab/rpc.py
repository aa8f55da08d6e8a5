# SPDX-License-Identifier: Apache-2.0
"""gantt-lab rpc: what does select_destinations cost over the bus, claims included, beside an empty call?"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, ClassVar

from devstack.cluster import Shape
from devstack.confs import PARTITION
from devstack.lab import hosts, rpc_site
from devstack.lab.command import Question, host_count, positive, up_to
from devstack.lab.rows import Row
from devstack.lab.rpc_callers import ECHO, Callers, Figures, Lot, calling
from devstack.lab.timing import interleave
from scheduler_svc.store.interface import Store
from scheduler_svc.store.redis import RedisStore

RATE_BUDGET = 0.7  # of the empty call's rate, for single selections on RabbitMQ
BATCH_BUDGET, BUDGET_BATCH = 10.0, 100  # placements a second beside single selections, at this many a call
BUDGET_FROM = 10_000
LOTS = 8

seconds = up_to(600, "a number of seconds")


def counts(text: str) -> list[int]:
    """Return whole numbers that an option gives, apart by commas; for argparse."""
    return sorted({positive(part) for part in text.split(",")})


@dataclass(frozen=True, slots=True)
class Setting:
    """What one set of rows was measured on."""

    bus: str
    workers: int
    hosts: int

    @property
    def promised(self) -> bool:
        """Whether the budgets speak of it."""
        return self.bus == "rabbit" and self.hosts >= BUDGET_FROM


class Rpc(Question):
    """Time select_destinations over a real bus, claims included, against an empty call on it.

    A private bus and store, gantt-scheduler with its workers as it is deployed, and an echo daemon with as many;
    client processes call one after the other, each as fast as it is answered. Echo and selections take turns.
    """

    pictures: ClassVar[bool] = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--hosts", type=host_count, default=10_000, metavar="N", help="Hosts (%(default)s).")
        parser.add_argument(
            "--batch", type=counts, default=[1, 10, 100], metavar="N,...", help="Instances a call (1,10,100)."
        )
        parser.add_argument(
            "--workers", type=counts, default=[1, 2], metavar="N,...", help="Scheduler workers (1,2), in turn."
        )
        parser.add_argument("--clients", type=positive, default=8, metavar="N", help="Client processes (%(default)s).")
        parser.add_argument("--bus", choices=[*rpc_site.MODES, "both"], default="both", help="Which bus (%(default)s).")
        parser.add_argument(
            "--fsync", choices=["no", "everysec", "always"], default="everysec", help="Of the store (%(default)s)."
        )
        parser.add_argument(
            "--executor", choices=["eventlet", "threading"], default="eventlet", help="Of the workers (%(default)s)."
        )
        parser.add_argument(
            "--seconds", type=seconds, default=1.0, metavar="S", help=f"Length of each of {LOTS} lots (%(default)s)."
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        nodes = hosts.make(args.hosts)
        sizes = [ECHO, *sorted({1, *args.batch})]
        found: list[Row] = []
        buses = rpc_site.buses(args.bus)
        with self.bar((LOTS + 1) * len(buses) * len(args.workers), "calling", args) as bar:
            for bus in buses:
                shape = Shape(mode=rpc_site.MODES[bus], executor=args.executor)
                with (
                    rpc_site.running(shape, args.fsync, {"scheduler": rpc_site.PATIENT}) as site,
                    calling(site.bus_url, args.clients) as callers,
                    closing(RedisStore(site.store_url, PARTITION)) as store,
                ):
                    store.check_identity()
                    hosts.join(store, nodes)
                    for workers in args.workers:
                        before = sum(store.counts().values())
                        site.start_echo(workers)
                        site.start_scheduler(workers)
                        lots = _lots(callers, sizes, args.seconds, bar.update)
                        site.stop_daemons()
                        found += _rows(Setting(bus, workers, args.hosts), lots)
                        found.append(account(Setting(bus, workers, args.hosts), lots, store, before))
        return found

    def draw(self, figure: Any, found: Sequence[Row]) -> None:
        axes = figure.subplots()
        curves: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
        for row in found:
            if "batch" in row.figures:
                curves[f"{row.figures['bus']}, {row.figures['workers']} workers"].append(row.figures)
        for label, points in curves.items():
            batches = [point["batch"] for point in points]
            axes.plot(batches, [point["placements_per_s"] for point in points], "o-", label=label)
        axes.set(xscale="log", yscale="log", xlabel="instances a call", ylabel="placements per second")
        axes.legend()
        axes.grid(which="both", alpha=0.3)


def _lots(callers: Callers, sizes: Sequence[int], seconds: float, tick: Any) -> dict[int, list[Lot]]:
    """Return the lots of each size, the first of each too: what it claimed is accounted for."""
    made: dict[int, list[Lot]] = {size: [] for size in sizes}

    def subject(size: int) -> Any:
        return lambda number: made[size].append(callers.call(size, seconds))

    interleave({str(size): subject(size) for size in sizes}, lots=LOTS, size=1, tick=tick)
    return made


def _rows(setting: Setting, lots: Mapping[int, Sequence[Lot]]) -> Iterator[Row]:
    kept = {size: Figures(made[1:]) for size, made in lots.items()}
    echo, single = kept[ECHO], kept[1]
    for size, mine in kept.items():
        if size == ECHO:
            continue
        name = f"select of {size}, {setting.bus}, {setting.workers} workers"
        ratio = mine.per_second / echo.per_second if size == 1 else size * mine.per_second / single.per_second
        budget = {1: RATE_BUDGET, BUDGET_BATCH: BATCH_BUDGET}.get(size) if setting.promised else None
        figures: dict[str, float | int | str] = {
            "bus": setting.bus,
            "workers": setting.workers,
            "batch": size,
            "calls_per_s": mine.per_second,
            "placements_per_s": mine.per_second * size,
            "p50_ms": mine.percentile_ms(50),
            "p99_ms": mine.percentile_ms(99),
            "processor_ms": mine.processor_ms,
            "echo_calls_per_s": echo.per_second,
            "echo_p50_ms": echo.percentile_ms(50),
            "echo_p99_ms": echo.percentile_ms(99),
            "echo_processor_ms": echo.processor_ms,
        }
        yield Row(name, ratio, budget, "at least", figures)


def account(setting: Setting, lots: Mapping[int, Sequence[Lot]], store: Store, before: int) -> Row:
    """Return how many claims are wrong: over capacity, in sums that do not hold, or not those that were answered."""
    answered = sum(size * (lot.calls - lot.refused) for size, made in lots.items() for lot in made)
    found = store.verify()
    claims = sum(found.claims.values()) - before
    wrong = len(found.excess) + len(found.problems) + abs(claims - answered)
    figures = {
        "claims": claims,
        "answered": answered,
        "refused_calls": sum(lot.refused for made in lots.values() for lot in made),
        "overcommit": len(found.excess) + len(found.problems),
    }
    return Row(f"claims amiss, {setting.bus}, {setting.workers} workers", wrong, 0, figures=figures)
