# SPDX-License-Identifier: Apache-2.0
"""lab.sh claim: cost of the claim script against a bare script with the same reads and writes."""

import argparse
import contextlib
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import redis

from devstack.lab import hosts, partitions, private_servers
from devstack.lab.benchmark import Benchmark, option
from devstack.lab.claim.calls import (
    BARE,
    CLAIM,
    LOG_LENGTH,
    RESOURCES,
    ClaimCalls,
    empty_node,
    evalsha_us,
    prepare_partitions,
    send,
)
from devstack.lab.rows import ResultRow
from devstack.lab.timing import TimedSubject, Times, interleave
from devstack.servers.redis import AppendFsync
from rpcapi.cli.command import CommandFailed
from rpcapi.resources.claims import MAX_INSTANCES
from scheduler_svc.core.drivers.driver import max_candidates
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.store.redis import RedisStore

BUDGET = 2.0
LATENCY, RATE = "latency", "rate"
MODES: Sequence[AppendFsync] = ("no", "everysec", "always")
CANDIDATES = (1, 4, 16)
BLOCKS = 10
DEPTH = 16  # calls per pipeline when the rate is measured
PIPELINES = 10

MAX_STALL_MS = 150.0  # longest allowed server time of one script; the ratio's baseline
STALL_REQUESTS = 20


class ClaimBenchmark(Benchmark):
    """Time the claim script against a bare EVALSHA: fsync off, everysec and always; 1, 4 and 16 candidates.

    All candidates but the last are full, so that each is checked. Latency: one call at a time; rate: 16 calls per
    pipeline on one connection. Server time is what Redis counts for EVALSHA. The stall row compares the server time of
    the largest request's script with its limit.
    """

    can_plot: ClassVar[bool] = True

    ARGUMENTS = (option("--calls", "Single calls in each of 10 blocks", default=50),)

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        for mode in MODES:
            with private_servers.running_redis(mode) as server:
                prepare_partitions(server.url())
                with server.client() as client:
                    for candidates in CANDIDATES:
                        yield from _rows(mode, candidates, ClaimCalls(client, server.url(), candidates), args.calls)
                    yield measure_stall(mode, server.url(), client)

    def draw(self, figure: Any, rows: Sequence[ResultRow]) -> None:
        axes = figure.subplots()
        rate_rows = [row for row in rows if row.name.startswith(RATE)]
        positions = range(len(rate_rows))
        for key, shift in (("calls_per_s", -0.2), ("bare_calls_per_s", 0.2)):
            heights = [row.figures[key] for row in rate_rows]
            axes.bar([position + shift for position in positions], heights, 0.4)
        axes.set_xticks(list(positions), [f"{row.figures['fsync']}\n{row.figures['candidates']}" for row in rate_rows])
        axes.set(
            xlabel="fsync and candidates checked",
            ylabel="claims per second",
            title=f"Claims, {DEPTH} at a time on one connection",
        )
        axes.legend(["claim script", "bare EVALSHA"])


def _rows(mode: AppendFsync, candidates: int, calls: ClaimCalls, single: int) -> Iterator[ResultRow]:
    for what, size, depth in ((LATENCY, single, 1), (RATE, PIPELINES, DEPTH)):
        times = _figures(*_measure(calls, size, depth), depth)
        figures = {"fsync": mode, "candidates": candidates, **times}
        name = f"{what} of claims, fsync {mode}, candidates {candidates}"
        yield ResultRow(name, times["p50_us"] / times["bare_p50_us"], BUDGET, figures=figures)


def _measure(calls: ClaimCalls, size: int, depth: int) -> tuple[dict[str, Times], Counter[str]]:
    """Time pipelines of ``depth`` calls; return the times, and each script's server microseconds with warm-up."""
    server_us: Counter[str] = Counter()

    @contextlib.contextmanager
    def count_server_time(which: str) -> Iterator[None]:
        before = evalsha_us(calls.client)
        yield
        server_us[which] += evalsha_us(calls.client) - before

    def subject(which: str) -> TimedSubject:
        arguments = calls.prepare_calls(which, (BLOCKS + 1) * size * depth, 0)
        return lambda number: _require_claimed(
            which, send(calls.client, arguments[number * depth : (number + 1) * depth])
        )

    subjects = {BARE: subject(BARE), CLAIM: subject(CLAIM)}
    return interleave(subjects, blocks=BLOCKS, size=size, watch=count_server_time), server_us


def _require_claimed(which: str, answers: Sequence[Any]) -> None:
    """Raise CommandFailed unless each call claimed, because refusals are cheaper and would falsify the result."""
    for answer in answers:
        if not answer[0]:
            raise CommandFailed(f"A call of the {which} script claimed nothing ({answer}): choose fewer --calls")


def _figures(times: dict[str, Times], server_us: Counter[str], depth: int) -> dict[str, float]:
    figures: dict[str, float] = {}
    for prefix, which in (("", CLAIM), ("bare_", BARE)):
        calls = len(times[which].seconds) * depth * (BLOCKS + 1) / BLOCKS
        figures |= Times(times[which].seconds / depth).microseconds(prefix)
        figures[f"{prefix}calls_per_s"] = times[which].per_second * depth
        figures[f"{prefix}server_us"] = server_us[which] / calls
    return figures


def measure_stall(mode: AppendFsync, url: str, client: redis.Redis) -> ResultRow:
    stalls, elapsed = [], []
    with partitions.opened(url, CLAIM, log_length=LOG_LENGTH) as store:
        for _ in range(STALL_REQUESTS + 1):
            batch = _largest_batch(store)
            before = _processor_s(client), evalsha_us(client)
            accepted = store.prepare(batch).accepted
            elapsed.append((evalsha_us(client) - before[1]) / 1000)
            stalls.append(_processor_s(client) - before[0])
            if not accepted:
                raise CommandFailed("A request of the largest size was refused: its nodes are too small")
            store.abort([ClaimRef(intent.consumer, 1) for intent in batch.intents])
    times = Times(np.array(stalls[1:]))
    figures = {
        "fsync": mode,
        "instances": MAX_INSTANCES,
        "candidates": max_candidates(MAX_INSTANCES),
        **times.milliseconds(),
        "elapsed_p50_ms": float(np.percentile(elapsed[1:], 50)),
        "instance_us": times.p50_us / MAX_INSTANCES,
    }
    name = f"stall of the largest request, fsync {mode}"
    return ResultRow(name, times.p99_us / 1e3 / MAX_STALL_MS, 1.0, figures=figures)


def _processor_s(client: redis.Redis) -> float:
    statistics: Any = client.info("cpu")
    return float(statistics["used_cpu_user_main_thread"] + statistics["used_cpu_sys_main_thread"])


def _largest_batch(store: RedisStore) -> ClaimBatch:
    candidates = range(max_candidates(MAX_INSTANCES))
    intents = [
        Intent(str(uuid.uuid4()), 1, [Candidate(empty_node(number + offset)) for offset in candidates])
        for number in range(MAX_INSTANCES)
    ]
    record = {"driver": "FilterDriver", "seed": 1, "spec": {"resources": RESOURCES}, "instances": MAX_INSTANCES}
    return hosts.claim_batch(store.snapshot(), intents, RESOURCES, record)
