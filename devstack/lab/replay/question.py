# SPDX-License-Identifier: Apache-2.0
"""gantt-lab replay: how well do drivers place a real day's requests?"""

import argparse
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from devstack.lab import hosts
from devstack.lab.command import Question, host_count, positive, share
from devstack.lab.replay import arrivals, in_process, picture, policies, report, sizing
from devstack.lab.replay.arrivals import Survey
from devstack.lab.replay.observer import Observer
from devstack.lab.replay.oracle import Foresight, Oracle
from devstack.lab.replay.placer import Placer
from devstack.lab.replay.play import Play, Run
from devstack.lab.replay.policies import Policy
from devstack.lab.replay.synthetic import Synthetic
from devstack.lab.replay.trace import Trace, TraceFile
from devstack.lab.rows import Row
from rpcapi.shell.faults import CommandFailed
from scheduler_svc.store.records import Snapshot

FOUND = Path(__file__).resolve().parents[4] / "shared" / "traces" / "azure_2017_vm_requests.csv.gz"
LIMITS = {"memory": 50_000, "redis": 20_000, "cluster": 1_000}
JUDGED = 2_000  # claims of each driver whose regret is reckoned
ALL = 0


def limit(text: str) -> int:
    """Return how many requests to replay; for argparse."""
    return ALL if text == "all" else positive(text)


def names(text: str) -> list[str]:
    """Return the drivers of a list; for argparse."""
    found = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not found:
        raise argparse.ArgumentTypeError("it must name at least one driver")
    return found


@dataclass(frozen=True, slots=True)
class Course:
    """What all drivers are put through."""

    trace: Trace
    limit: int | None
    together: bool
    through: str
    survey: Survey
    hosts: int


class Replay(Question):
    """Replay a request trace through drivers side by side: arrivals compressed, departures honoured.

    TRACE is CSV, gzipped or not, a row a server, with the columns bin_ts, batch, vcpu, mem_gb, dur_lo_s, dur_hi_s and
    censored. Each driver starts with the same empty hosts. The floor is an oracle that places the same requests one at
    a time and knows the whole present state.
    """

    pictures: ClassVar[bool] = True

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self._runs: dict[str, Run] = {}

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "trace",
            nargs="?",
            type=Path,
            metavar="TRACE",
            help="The trace. Default: the Azure trace beside the project where it is there, else a made-up one.",
        )
        parser.add_argument("--synthetic", action="store_true", help="Take the made-up trace.")
        parser.add_argument("--seed", type=int, default=1, help="Seed of the made-up trace (%(default)s).")
        parser.add_argument(
            "--limit", type=limit, metavar="R", help=f"Take the first R servers, or 'all'. Default: {_told(LIMITS)}."
        )
        parser.add_argument("--hosts", type=host_count, metavar="N", help="Empty hosts. Default: by --fill.")
        parser.add_argument(
            "--fill",
            type=share,
            default=1.0,
            metavar="SHARE",
            help="Without --hosts: so many that the trace's peak is this share of its scarcer class (%(default)s).",
        )
        parser.add_argument(
            "--drivers",
            type=names,
            default="filter,pack,chance",
            metavar="NAMES",
            help="Drivers, with commas: 'filter' spreads, 'pack' is filter with negative multipliers, 'solver' and "
            "'solver-pack' place what arrives together by batches, or any in gantt.drivers (%(default)s).",
        )
        parser.add_argument(
            "--solver-limit",
            type=positive,
            metavar="MS",
            help="Milliseconds that the solver has for each batch. Default: that of [solver] time_limit.",
        )
        parser.add_argument(
            "--through",
            choices=list(LIMITS),
            default="memory",
            help="Place in this process on the memory backend or on a Redis of its own, or through a whole embedded "
            "cluster whose conductor builds and deletes (%(default)s).",
        )
        parser.add_argument(
            "--together",
            action="store_true",
            help="Ask for alike servers of one batch in one request, all or none; else for each by itself.",
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        chosen = [policies.load(name, args.solver_limit) for name in args.drivers]
        course = _course(args)
        packing = {policy.packs for policy in chosen}
        self._runs = {}
        with self.bar(course.survey.servers * (len(chosen) + len(packing)), "replaying", args) as bar:
            seen: dict[bool, Foresight] = {}
            for policy in chosen:
                with _placing(course, policy) as placer:
                    if policy.packs not in seen:
                        seen[policy.packs] = _foresee(course, policy, placer.store.snapshot(), bar)
                    self._runs[policy.name] = _run(course, policy, placer, seen[policy.packs], bar)
        return [
            row
            for policy in chosen
            for row in report.rows(policy, self._runs[policy.name], seen[policy.packs].count, course.hosts)
        ]

    def draw(self, figure: Any, found: Sequence[Row]) -> None:
        picture.draw(figure, self._runs)


def _course(args: argparse.Namespace) -> Course:
    most = LIMITS[args.through] if args.limit is None else args.limit or None
    if args.trace is not None and args.synthetic:
        raise CommandFailed("Name a TRACE or ask for --synthetic, not both")
    path = args.trace if args.trace is not None or args.synthetic or not FOUND.exists() else FOUND
    if path is None and most is None:
        raise CommandFailed("The made-up trace has no end: name a --limit")
    trace: Trace = Synthetic(most or 0, args.seed) if path is None else TraceFile(path)
    survey = arrivals.survey(trace, most)
    try:
        size = args.hosts or sizing.enough(survey.peak, args.fill, cluster=args.through == "cluster")
    except ValueError as why:
        raise CommandFailed(f"{trace.name}: {why}") from why
    if args.through == "cluster":
        size = _cluster().shape(size).nodes
    return Course(trace, most, args.together, args.through, survey, size)


def _cluster() -> Any:
    """Return what runs a cluster: its clients take a second to import, and other replays need none of them."""
    from devstack.lab.replay import whole_cluster  # noqa: PLC0415 - see above

    return whole_cluster


def _placing(course: Course, policy: Policy) -> contextlib.AbstractContextManager[Placer]:
    if course.through == "cluster":
        return _cluster().in_cluster(course.hosts, policy)
    nodes = hosts.make(course.hosts)
    return (in_process.in_memory if course.through == "memory" else in_process.in_redis)(nodes, policy)


def _foresee(course: Course, policy: Policy, snapshot: Snapshot, bar: Any) -> Foresight:
    oracle = Oracle(snapshot, policy)
    for moment in arrivals.moments(course.trace, course.limit, course.together):
        oracle.go_through(moment)
        bar.update(sum(len(one.members) for one in moment.wanted))
    return oracle.foresight


def _run(course: Course, policy: Policy, placer: Placer, foresight: Foresight, bar: Any) -> Run:
    every = max(1, course.survey.servers // JUDGED)
    observer = Observer(placer.store, policy, course.survey.commonest, every)
    play = Play(placer, observer, course.survey, foresight)
    return play.through(arrivals.moments(course.trace, course.limit, course.together), bar)


def _told(limits: Mapping[str, int]) -> str:
    return ", ".join(f"{count} through {name}" for name, count in limits.items())
