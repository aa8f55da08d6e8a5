# SPDX-License-Identifier: Apache-2.0
"""lab.sh replay: how well drivers place the requests of a real trace."""

import argparse
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from devstack.lab import hosts
from devstack.lab.benchmark import Benchmark, flag, host_count, list_of, option, positive, share
from devstack.lab.hosts import Shape
from devstack.lab.replay import arrivals, in_process, policies, report
from devstack.lab.replay.arrivals import TraceSummary
from devstack.lab.replay.observer import ReplayObserver
from devstack.lab.replay.policies import ReplayPolicy
from devstack.lab.replay.scenario import Oracle, Placer, ReplayRun, TraceReplay
from devstack.lab.replay.trace import Trace, synthetic_trace, trace_file
from devstack.lab.rows import ResultRow
from rpcapi.admin.argument import Argument
from rpcapi.cli.command import CommandFailed
from scheduler_svc.core.records import Snapshot

AZURE_TRACE = Path(__file__).resolve().parents[4] / "shared" / "traces" / "azure_2017_vm_requests.csv.gz"
LIMITS = {"memory": 50_000, "redis": 20_000, "cluster": 1_000}
JUDGED_CLAIMS = 2_000
DEFAULT_LIMITS = ", ".join(f"{count} through {name}" for name, count in LIMITS.items())
ALL = 0


def limit(text: str) -> float:
    return ALL if text == "all" else positive(text)


def driver_name(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("a driver's name is empty")
    return text


@dataclass(frozen=True, slots=True)
class ReplaySetup:
    trace: Trace
    limit: int | None
    together: bool
    through: str
    survey: TraceSummary
    hosts: int
    shapes: Sequence[Shape]
    seed: int


class ReplayBenchmark(Benchmark):
    """Replay a request trace through several drivers: departures in order, arrivals without waiting times.

    TRACE is CSV, optionally gzipped, one row per server, with the columns bin_ts, batch, vcpu, mem_gb, dur_lo_s,
    dur_hi_s and censored. Each driver starts with the same empty hosts. The baseline is an oracle that places the same
    requests one by one on the complete current state.
    """

    can_plot: ClassVar[bool] = True

    ARGUMENTS = (
        Argument("trace", nargs="?", type=Path, metavar="TRACE", help="The trace; else Azure's, or a generated one."),
        flag("--synthetic", "Use the generated trace."),
        option("--seed", "Seed of the hosts, of choices between equal ones, and of the generated trace", int, 1),
        option("--limit", f"Servers to replay, or 'all'; default: {DEFAULT_LIMITS}", limit, metavar="R"),
        option("--hosts", "Number of hosts. Default: by --fill", host_count),
        Argument(
            "--shapes",
            choices=list(hosts.SHAPE_SETS),
            default="mixed",
            help="Hosts of four generations, of one, or rich in processors or memory; not for a cluster (%(default)s).",
        ),
        option("--fill", "Without --hosts: the trace's peak, as a share of the scarcer class", share, 1.0, "SHARE"),
        option(
            "--drivers",
            "Drivers: filter spreads, nova weighs free amounts like Nova, balance weighs equal free shares too, pack "
            "prefers full hosts, solver and solver-pack place simultaneous arrivals in batches; or any in "
            "gantt.drivers",
            list_of(driver_name),
            "filter,pack,chance",
            "NAME,...",
        ),
        option("--solver-work", "The solver's limit of work per batch. Default: that of [solver] work_limit"),
        Argument(
            "--through",
            choices=list(LIMITS),
            default="memory",
            help="Place in this process, on either store, or through a whole embedded cluster (%(default)s).",
        ),
        flag("--landing", "Let --plot show the servers on each host instead of shares over time."),
        flag("--together", "Request equal servers of one batch together, all or none; else each separately."),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        replay_policies = [policies.load(name, args.solver_work) for name in args.drivers]
        setup = _make_setup(args)
        self._runs: dict[str, ReplayRun] = {}
        self._sizes: dict[str, int] | None = None
        oracle_flags: dict[str, bytearray] = {}
        for policy in replay_policies:
            with _make_placer(setup, policy) as placer:
                if args.landing:
                    self._sizes = report.host_sizes(placer.store.snapshot())
                if policy.oracle not in oracle_flags:
                    oracle_flags[policy.oracle] = _run_oracle(setup, policy, placer.store.snapshot())
                run = self._runs[policy.name] = _run(setup, policy, placer, oracle_flags[policy.oracle])
            yield from report.rows(policy, run, sum(oracle_flags[policy.oracle]), setup.hosts)

    def draw(self, figure: Any, rows: Sequence[ResultRow]) -> None:
        if self._sizes is None:
            report.draw(figure, self._runs)
        else:
            report.draw_landing(figure, self._runs, self._sizes)


def _make_setup(args: argparse.Namespace) -> ReplaySetup:
    limit = LIMITS[args.through] if args.limit is None else args.limit or None
    if args.trace is not None and args.synthetic:
        raise CommandFailed("Give a TRACE or --synthetic, not both")
    path = args.trace if args.trace is not None or args.synthetic or not AZURE_TRACE.exists() else AZURE_TRACE
    if path is None and limit is None:
        raise CommandFailed("The generated trace is endless: give a --limit")
    trace = synthetic_trace(limit or 0, args.seed) if path is None else trace_file(path)
    summary = arrivals.summarize(trace, limit)
    try:
        size = args.hosts or arrivals.required_hosts(
            summary.peak,
            args.fill,
            hosts.SHAPE_SETS[args.shapes],
            seed=args.seed,
            cluster=args.through == "cluster",
        )
    except ValueError as why:
        raise CommandFailed(f"{trace.name}: {why}") from why
    if args.through == "cluster":
        size = _cluster().cluster_size(size).nodes
    shapes = hosts.SHAPE_SETS[args.shapes]
    return ReplaySetup(trace, limit, args.together, args.through, summary, size, shapes, args.seed)


def _cluster() -> Any:
    """Import the module only if needed, because importing it takes a second."""
    from devstack.lab.replay import whole_cluster  # noqa: PLC0415 - see above

    return whole_cluster


def _make_placer(setup: ReplaySetup, policy: ReplayPolicy) -> contextlib.AbstractContextManager[Placer]:
    if setup.through == "cluster":
        placer: contextlib.AbstractContextManager[Placer] = _cluster().in_cluster(setup.hosts, policy)
        return placer
    nodes = hosts.make_nodes(setup.hosts, setup.seed, setup.shapes)
    return (in_process.in_memory if setup.through == "memory" else in_process.in_redis)(nodes, policy)


def _run_oracle(setup: ReplaySetup, policy: ReplayPolicy, snapshot: Snapshot) -> bytearray:
    """Return one flag per server of the trace: whether the oracle placed it."""
    oracle = Oracle(snapshot, policies.load(policy.oracle).driver)
    for batch in arrivals.arrival_batches(setup.trace, setup.limit, setup.together, setup.seed):
        oracle.process(batch)
    return oracle.placed_flags


def _run(setup: ReplaySetup, policy: ReplayPolicy, placer: Placer, oracle_flags: bytearray) -> ReplayRun:
    every = max(1, setup.survey.servers // JUDGED_CLAIMS)
    observer = ReplayObserver(placer.store, policy, setup.survey.commonest, every)
    trace_replay = TraceReplay(placer, observer, setup.survey, oracle_flags)
    return trace_replay.replay(arrivals.arrival_batches(setup.trace, setup.limit, setup.together, setup.seed))
