# SPDX-License-Identifier: Apache-2.0
"""lab.sh chaos: faults drawn by a seed on a whole cluster under load, and a check of every promise to a caller."""

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from devstack.lab.benchmark import Benchmark, positive
from devstack.lab.chaos.deployment import PARTITIONS, stop_leftovers
from devstack.lab.chaos.draw import KINDS
from devstack.lab.chaos.progress import Progress
from devstack.lab.chaos.segment import Segment
from devstack.lab.chaos.violations import ViolationKind
from devstack.lab.rows import ResultRow
from devstack.users.errors import DevstackError
from rpcapi.cli.command import CommandFailed


class ChaosRun(Benchmark):
    """Inject faults into a whole cluster under load, and count what it broke of its promises.

    Runs RabbitMQ, Redis with a replica and sentinels, two conductors, two scheduler workers and three agents. After
    each segment of faults it compares what callers were answered with guests, journals, claims and records. An
    interrupted run continues with the segment after the last finished one: give the same seed and state file. The
    command exits with 1 if there was a violation.
    """

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument("--seed", type=int, default=1, metavar="N", help="Seed of all draws (%(default)s).")
        parser.add_argument(
            "--faults", type=positive, default=1000, metavar="N", help="Faults in all segments (%(default)s)."
        )
        parser.add_argument(
            "--segment", type=positive, default=60, metavar="N", help="Faults between two checks (%(default)s)."
        )
        parser.add_argument(
            "--at-once", type=positive, default=4, metavar="N", help="Faults in flight together, at most (%(default)s)."
        )
        parser.add_argument(
            "--partitions",
            type=int,
            choices=range(1, len(PARTITIONS) + 1),
            default=1,
            metavar="N",
            help="Partitions, each with a store and agents of its own, 1 or 2 (%(default)s).",
        )
        parser.add_argument(
            "--minutes", type=positive, metavar="N", help="Begin no segment after so many minutes of this call."
        )
        parser.add_argument(
            "--servers", type=positive, default=300, metavar="N", help="Servers alive at a time (%(default)s)."
        )
        parser.add_argument(
            "--state",
            type=Path,
            default=Path("gantt-chaos.json"),
            metavar="FILE",
            help="Figures so far, to continue from (%(default)s).",
        )
        parser.add_argument(
            "--evidence",
            type=Path,
            metavar="FOLDER",
            help="Keep run folders with violations, or without recovery.",
        )
        parser.add_argument(
            "--also",
            action="append",
            type=Path,
            default=[],
            metavar="FILE",
            help="Add the figures of another run, by its state file: a run with another seed, beside this one.",
        )
        parser.add_argument("--only", action="append", choices=sorted(KINDS), metavar="KIND", help="Only these faults.")
        parser.add_argument("--without", action="append", choices=sorted(KINDS), metavar="KIND", help="Not these.")
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[ResultRow]:
        progress = Progress.load(args.state, args.seed)
        kinds = sorted(set(args.only or KINDS) - set(args.without or ()))
        if not kinds:
            raise CommandFailed("no kind of fault is left: use fewer --without")
        until = time.monotonic() + 60 * args.minutes if args.minutes else None
        with self.bar(args.faults, "faults", args) as bar:
            bar.update(progress.fault_count)
            while progress.fault_count < args.faults and (until is None or time.monotonic() < until):
                count = min(args.segment, args.faults - progress.fault_count)
                figures = self._run_segment(progress, kinds, count, args)
                progress.add(figures)
                progress.save(args.state)
                bar.update(figures.fault_count)
        for path in args.also:
            progress.add(Progress.read(path))
        self._has_violations = bool(progress.violations)
        return list(rows(progress))

    def take_action(self, parsed_args: argparse.Namespace) -> int:
        super().take_action(parsed_args)
        return 1 if self._has_violations else 0

    def _run_segment(self, progress: Progress, kinds: Sequence[str], count: int, args: argparse.Namespace) -> Progress:
        _remove_leftovers(args.state)
        folder = Path(tempfile.mkdtemp(prefix="gantt-chaos-"))  # short, for Unix sockets
        _folder_file(args.state).write_text(str(folder))
        segment = Segment(
            folder, f"{args.seed}/{progress.segments}", kinds, progress, self._say, partitions=args.partitions
        )
        try:
            report = segment.run(count, args.servers, most_at_once=args.at_once)
            self._say(report.text() or "no violation")
            if args.evidence and (report.violations or segment.figures.unrecovered):
                args.evidence.mkdir(parents=True, exist_ok=True)
                shutil.copytree(
                    folder, args.evidence / f"segment-{progress.segments}", ignore=_sockets, dirs_exist_ok=True
                )
        except (DevstackError, TimeoutError) as why:
            raise CommandFailed(f"segment {progress.segments} failed: {why}") from why
        finally:
            _remove_leftovers(args.state)
        return segment.figures

    def _say(self, text: str) -> None:
        print(text, file=self.app.stderr, flush=True)


def _folder_file(state: Path) -> Path:
    """Return the file with the path of the present segment's folder."""
    return state.with_name(f"{state.name}.folder")


def _remove_leftovers(state: Path) -> None:
    """End the processes of a segment, also of a run that was killed, and remove its folder."""
    file = _folder_file(state)
    if file.exists():
        folder = Path(file.read_text())
        stop_leftovers(folder)
        shutil.rmtree(folder, ignore_errors=True)
        file.unlink()


def _sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not (Path(folder) / name).is_file() and not (Path(folder) / name).is_dir()]


def rows(progress: Progress) -> Iterator[ResultRow]:
    """Yield the result rows: violations by kind, each with the budget 0, then faults by kind, calls and recovery."""
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
