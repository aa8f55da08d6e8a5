# SPDX-License-Identifier: Apache-2.0
"""lab.sh rpc: cost of select_destinations over the bus, with claims, against an empty call."""

import argparse
import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from statistics import median

from devstack.cluster_size import ClusterSize, default_executor
from devstack.confs import PARTITION
from devstack.lab import hosts, partitions
from devstack.lab.benchmark import LEAST, host_count, list_of, names_of, option, positive
from devstack.lab.private_cluster import LONG_TIMEOUTS, MODES, ClusterBenchmark, PrivateCluster, running, scraping
from devstack.lab.rows import ResultRow
from devstack.lab.rpc import users
from devstack.lab.rpc.callers import ECHO, Blocks, Callers, CallTimes, run_callers
from devstack.lab.timing import take_turns
from devstack.servers.ports import free_port
from rpcapi.admin.argument import Argument, parse_number
from scheduler_svc.store.interface import Store

EXECUTOR_BUDGET = 0.9
METRICS_BUDGET = 1.03  # processor time with metrics, relative to the time without them
PERCENTILES = {"p50_ms": 50.0, "p99_ms": 99.0, "p999_ms": 99.9}

# Blocks of one executor, one element per run of its daemons.
Turns = Sequence[Blocks]


def statistics(turns: Turns) -> dict[int, CallTimes]:
    """Join an executor's calls of all turns, without warm-ups, by batch size."""
    return {size: CallTimes.joined([block for blocks in turns for block in blocks[size][1:]]) for size in turns[0]}


def comparison_row(
    name: str, own: Turns, base: Turns, size: int, *, by_cost: bool = False, has_budget: bool = False
) -> ResultRow:
    """Compare pairs of turns by the median ratio of their call rates, or (``by_cost``) processor times per call."""
    pairs = [(statistics([first])[size], statistics([second])[size]) for first, second in zip(own, base, strict=True)]
    rates = [first.per_second / second.per_second for first, second in pairs]
    costs = [first.processor_ms / second.processor_ms for first, second in pairs if second.processor_ms]
    figures: dict[str, float | int | str]
    if by_cost:
        figures = {"turns": len(costs), "rate_ratio": median(rates)}
        ratio = median(costs) if costs else float("nan")
        return ResultRow(name, ratio, METRICS_BUDGET if has_budget else None, figures=figures)
    figures = {
        "turns": len(rates),
        "least_ratio": min(rates),
        "greatest_ratio": max(rates),
        "processor_ratio": median(costs) if costs else "-",
    }
    return ResultRow(name, median(rates), EXECUTOR_BUDGET if has_budget else None, "at least", figures)


def load_row(name: str, percent: int, per_second: float, blocks: Blocks) -> ResultRow:
    """Return the latency of selections that arrive at random, relative to equally frequent echo calls.

    Calls are timed from their arrival in a Poisson process: a client that waits for each answer would omit the calls
    that a stall delays.
    """
    measured = statistics([blocks])
    echo, select = measured[ECHO], measured[1]
    figures = {
        "arrivals_per_s": per_second,
        "calls": select.calls,
        **{key: 1e3 * select.percentile(share) for key, share in PERCENTILES.items()},
        **{f"echo_{key}": 1e3 * echo.percentile(share) for key, share in PERCENTILES.items()},
    }
    ratio = select.p99_us / echo.p99_us
    return ResultRow(f"p99 of a select at {percent} % of its saturated rate, {name}", ratio, figures=figures)


RATE_BUDGET = 0.7  # share of the empty call's rate, for single selections on RabbitMQ
BATCH_BUDGET, BUDGET_BATCH = 10.0, 100  # placements per second at this batch size, relative to single selections
BUDGET_FROM = 10_000
BLOCKS = 8
TURNS, TURN_BLOCKS = 8, 2  # turns, and blocks per turn, of each of several executors
MAX_LOAD = 120  # percent; more arrivals would only build a queue
METRICS = "metrics"  # pseudo-executor: the default one with metrics that are scraped
EXECUTORS = ("eventlet", "threading", METRICS)


class RpcBenchmark(ClusterBenchmark):
    """Time select_destinations over a real bus, claims included, against an empty call on it.

    Runs a private bus and store, gantt-scheduler with its workers as deployed, and an echo daemon with as many workers.
    Each client process sends its next call after the last answer; echo calls and selections alternate. Then both arrive
    at random, at shares of the saturated rate of selections. Several executors take turns, and the rates of pairs of
    turns are compared. With --users, compares agents' empty calls on RabbitMQ nodes with that many users and with one,
    and times the import of the users.
    """

    DEFAULT_BUS = "both"

    ARGUMENTS = (
        option("--hosts", "Hosts", host_count, 10_000),
        option("--batch", "Instances per call", list_of(positive), "1,10,100", "N,..."),
        option("--workers", "Scheduler workers, one number after the other", list_of(positive), "1,2", "N,..."),
        option("--clients", "Client processes", default=8),
        Argument("--fsync", choices=["no", "everysec", "always"], default="everysec", help="Store's (%(default)s)."),
        option(
            "--executors",
            f"Of the workers: eventlet, threading, or '{METRICS}' for {default_executor()} with metrics that are "
            f"scraped; several take {TURNS} turns each and are compared with the first",
            names_of(EXECUTORS, "an executor"),
            default_executor(),
            "NAME,...",
        ),
        option("--seconds", f"Length of each of {BLOCKS} blocks", parse_number(float, LEAST, 600), 1.0, "S"),
        option(
            "--loads",
            "Also time single selections that arrive at random, at these shares of the saturated rate, with the first "
            "executor",
            list_of(parse_number(int, 1, MAX_LOAD)),
            "25,50,75,100",
            "PERCENT,...",
        ),
        option(
            "--users",
            "Compare a RabbitMQ node with the users of N agents; only --clients, --executors (the first) and --seconds "
            "apply",
            parse_number(int, 1, users.MAX_USERS),
        ),
    )

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        return super().measure(args) if args.users is None else users.measure(args, BLOCKS)

    def measure_cluster(self, bus: str, args: argparse.Namespace) -> Iterator[ResultRow]:
        nodes, executor = hosts.make_nodes(args.hosts), args.executors[0]
        with (
            running(ClusterSize(mode=MODES[bus]), args.fsync, {"scheduler": LONG_TIMEOUTS}) as private_cluster,
            run_callers([private_cluster.bus_url] * args.clients) as callers,
            partitions.opened(private_cluster.store_url, PARTITION) as store,
        ):
            hosts.join(store, nodes)
            for workers in args.workers:
                name = f"{bus}, {workers} workers"
                before = sum(store.counts().values())
                measured_turns = _take_turns(private_cluster, callers, workers, args)
                for own_executor, own in measured_turns.items():
                    yield from _select_rows(bus, workers, own_executor, statistics(own), args.hosts)
                yield from _comparison_rows(name, measured_turns, args.hosts)
                blocks = list(itertools.chain(*measured_turns.values()))
                saturated = statistics(measured_turns[executor])[1].per_second
                with _running_daemons(private_cluster, workers, executor):
                    for percent in args.loads:
                        rate = saturated * percent / 100
                        blocks.append(callers.run_blocks([ECHO, 1], args.seconds, BLOCKS, per_second=rate))
                        yield load_row(f"{name}, {executor}", percent, rate, blocks[-1])
                yield account(name, blocks, store, before)


def _take_turns(
    private_cluster: PrivateCluster, callers: Callers, workers: int, args: argparse.Namespace
) -> Mapping[str, Sequence[Blocks]]:
    sizes = [ECHO, *sorted({1, *args.batch})]
    count, blocks = (TURNS, TURN_BLOCKS) if len(args.executors) > 1 else (1, BLOCKS)
    measured: dict[str, list[Blocks]] = {executor: [] for executor in args.executors}
    for _, executor in take_turns(args.executors, count):
        with _running_daemons(private_cluster, workers, executor):
            measured[executor].append(callers.run_blocks(sizes, args.seconds, blocks))
    return measured


@contextlib.contextmanager
def _running_daemons(private_cluster: PrivateCluster, workers: int, executor: str) -> Iterator[None]:
    is_measured = executor == METRICS
    port = free_port() if is_measured else None
    private_cluster.set_workers(workers, default_executor() if is_measured else executor, metrics_port=port)
    private_cluster.start_echo(workers)
    private_cluster.run_daemon("scheduler")
    try:
        with scraping(port) if port is not None else contextlib.nullcontext():
            yield
    finally:
        private_cluster.stop_daemons()


def _select_rows(
    bus: str, workers: int, executor: str, statistics: Mapping[int, CallTimes], host_count: int
) -> Iterator[ResultRow]:
    echo, single = statistics[ECHO], statistics[1]
    has_budget = bus == "rabbit" and host_count >= BUDGET_FROM
    for size, selection in statistics.items():
        if size == ECHO:
            continue
        ratio = selection.per_second / echo.per_second if size == 1 else size * selection.per_second / single.per_second
        budget = {1: RATE_BUDGET, BUDGET_BATCH: BATCH_BUDGET}.get(size) if has_budget else None
        figures: dict[str, float | int | str] = {
            "bus": bus,
            "workers": workers,
            "executor": executor,
            "batch": size,
            "placements_per_s": selection.per_second * size,
            **selection.figures(),
            **echo.figures("echo_"),
        }
        yield ResultRow(f"select of {size}, {bus}, {workers} workers, {executor}", ratio, budget, "at least", figures)


def _comparison_rows(name: str, measured_turns: Mapping[str, Turns], host_count: int) -> Iterator[ResultRow]:
    base, *others = measured_turns
    for executor in others:
        by_cost = executor == METRICS
        for size in measured_turns[base][0]:
            call = "an empty call" if size == ECHO else f"select of {size}"
            yield comparison_row(
                f"{executor} beside {base}: {call}, {name}",
                measured_turns[executor],
                measured_turns[base],
                size,
                by_cost=by_cost,
                has_budget=host_count >= BUDGET_FROM and (size == 1 or not by_cost),
            )


def account(name: str, blocks: Sequence[Blocks], store: Store, claims_before: int) -> ResultRow:
    """Return the row of faulty claims: above capacity, in inconsistent sums, or unanswered."""
    sizes_and_blocks = [
        (size, block) for turn_blocks in blocks for size, size_blocks in turn_blocks.items() for block in size_blocks
    ]
    answered_claims = sum(size * (block.calls - block.refusals) for size, block in sizes_and_blocks)
    verification = store.verify()
    claims = sum(verification.claims.values()) - claims_before
    faults = len(verification.excess) + len(verification.problems) + abs(claims - answered_claims)
    figures = {
        "claims": claims,
        "answered": answered_claims,
        "refused_calls": sum(block.refusals for _, block in sizes_and_blocks),
        "overcommit": len(verification.excess) + len(verification.problems),
    }
    return ResultRow(f"claims amiss, {name}", faults, 0, figures=figures)
