# SPDX-License-Identifier: Apache-2.0
"""lab.sh chaos: seeded faults on a whole cluster under load, and a check of every promise to a caller."""

import argparse
import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from devstack.deploy.users.errors import DevstackError
from devstack.lab.benchmark import Benchmark, option
from devstack.lab.chaos.deployment import PARTITIONS
from devstack.lab.chaos.draw import KINDS
from devstack.lab.chaos.progress import Progress
from devstack.lab.chaos.segment import Segment
from devstack.lab.chaos.violations import ViolationKind
from devstack.lab.private_servers import temporary_folder
from devstack.lab.rows import ResultRow
from rpcapi.admin.argument import Argument, repeatable
from rpcapi.cli.command import CommandFailed


class ChaosRun(Benchmark):
    """Inject faults into a whole cluster under load, and count the promises that it broke.

    The cluster has RabbitMQ, Redis with a replica and sentinels, two conductors, two scheduler workers and three
    agents. After each segment of faults, callers' answers are compared with guests, journals, claims and records. The
    same seed and state file continue an interrupted run. Exits with 1 if there was a violation.
    """

    BUDGET_EXIT = 1
    ARGUMENTS = (
        option("--seed", "Seed of all draws", int, 1),
        option("--faults", "Faults in all segments", default=1000),
        option("--segment", "Faults between two checks", default=60),
        option("--at-once", "Faults in flight together, at most", default=4),
        Argument(
            "--partitions",
            type=int,
            choices=range(1, len(PARTITIONS) + 1),
            default=1,
            help="Partitions, each with a store and agents (%(default)s).",
        ),
        option("--minutes", "Begin no segment after so many minutes of this call"),
        option("--servers", "Servers alive at a time", default=300),
        option("--state", "Figures so far, to continue from", Path, Path("gantt-chaos.json"), metavar="FILE"),
        option("--evidence", "Keep run folders with violations, or without recovery", Path, metavar="FOLDER"),
        repeatable("--also", type=Path, metavar="FILE", help="Add the figures of another run, by its state file."),
        Argument("--only", action="append", choices=sorted(KINDS), metavar="KIND", help="Only these faults."),
        Argument("--without", action="append", choices=sorted(KINDS), metavar="KIND", help="Not these."),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        progress = Progress.load(args.state, args.seed)
        kinds = sorted(set(args.only or KINDS) - set(args.without or ()))
        if not kinds:
            raise CommandFailed("no kind of fault is left: use fewer --without")
        until = time.monotonic() + 60 * args.minutes if args.minutes else None
        while progress.fault_count < args.faults and (until is None or time.monotonic() < until):
            count = min(args.segment, args.faults - progress.fault_count)
            progress.add(self._run_segment(progress, kinds, count, args))
            progress.save(args.state)
            self.say(f"{progress.fault_count} of {args.faults} faults")
        for path in args.also:
            progress.add(Progress.read(path))
        yield from rows(progress)

    def _run_segment(self, progress: Progress, kinds: Sequence[str], count: int, args: argparse.Namespace) -> Progress:
        with temporary_folder() as folder:
            segment = Segment(
                folder, f"{args.seed}/{progress.segments}", kinds, progress, self.say, partitions=args.partitions
            )
            try:
                report = segment.run(count, args.servers, most_at_once=args.at_once)
            except (DevstackError, TimeoutError) as why:
                raise CommandFailed(f"segment {progress.segments} failed: {why}") from why
            self.say(report.text() or "no violation")
            if args.evidence and (report.violations or segment.figures.unrecovered):
                args.evidence.mkdir(parents=True, exist_ok=True)
                target = args.evidence / f"segment-{progress.segments}"
                shutil.copytree(folder, target, ignore=_sockets, dirs_exist_ok=True)
        return segment.figures


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (Path(folder) / name).is_file() and not (Path(folder) / name).is_dir()]


def rows(progress: Progress) -> Iterator[ResultRow]:
    for kind in ViolationKind:
        yield ResultRow(kind.value, progress.violations[kind.value], 0)
    for name in sorted(KINDS):
        figures = {"idle": progress.idle_faults[name], "missed": progress.missed[name]}
        yield ResultRow(f"fault: {name}", progress.faults[name], figures=figures)
    yield ResultRow(
        "all faults",
        progress.fault_count,
        figures={"idle": sum(progress.idle_faults.values()), "unrecovered": progress.unrecovered},
    )
    yield ResultRow("acknowledged instances", progress.instances, figures=dict(progress.answers))
    yield ResultRow("claims", progress.claims)
    yield ResultRow(
        "recovery p99, seconds",
        progress.recovery(0.99),
        figures={"p50_s": progress.recovery(0.5), "segments": progress.segments, "machine_s": progress.seconds},
    )
