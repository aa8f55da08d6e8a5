# SPDX-License-Identifier: Apache-2.0
"""gantt-lab claim: what does the claim script cost beside a bare script of the same reads and writes?"""

import argparse
import contextlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

import redis

from devstack.lab import private_redis
from devstack.lab.claim_calls import BARE, MINE, ClaimCalls, prepare_partitions, send
from devstack.lab.command import Question, positive
from devstack.lab.rows import Row
from devstack.lab.timing import Subject, Times, interleave
from devstack.servers.redis import Durability
from rpcapi.shell.faults import CommandFailed

BUDGET = 2.0
MODES: Sequence[Durability] = ("no", "everysec", "always")
CANDIDATES = (1, 4, 16)
LOTS = 10
DEPTH = 16  # calls that are under way together where the rate is measured
SENT_EACH = 10  # such bunches in a lot


class Claim(Question):
    """Time the claim script against a bare EVALSHA: append-only file off, everysec and always; 1, 4, 16 candidates.

    All candidates but the last are full, so that each is looked at. Latency is one call at a time, rate is 16 at a
    time on one connection; the server's own time is what Redis counts for EVALSHA.
    """

    pictures: ClassVar[bool] = True

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--calls", type=positive, default=50, metavar="N", help="Single calls in each of 10 lots (%(default)s)."
        )
        return parser

    def measure(self, args: argparse.Namespace) -> Sequence[Row]:
        found: list[Row] = []
        with self.bar(2 * (LOTS + 1) * len(MODES) * len(CANDIDATES), "claiming", args) as bar:
            for mode in MODES:
                with private_redis.running(mode) as server:
                    prepare_partitions(server.url())
                    with server.client() as client:
                        for candidates in CANDIDATES:
                            calls = ClaimCalls(client, server.url(), candidates)
                            found += _rows(mode, candidates, calls, args.calls, bar.update)
        return found

    def draw(self, figure: Any, found: Sequence[Row]) -> None:
        axes = figure.subplots()
        rates = [row for row in found if row.name == "claim rate"]
        places = range(len(rates))
        for key, shift in (("calls_per_s", -0.2), ("bare_calls_per_s", 0.2)):
            heights = [row.figures[key] for row in rates]
            axes.bar([place + shift for place in places], heights, 0.4)
        axes.set_xticks(list(places), [f"{row.figures['fsync']}\n{row.figures['candidates']}" for row in rates])
        axes.set(
            xlabel="fsync, and candidates looked at",
            ylabel="claims per second",
            title=f"Claims, {DEPTH} at a time on one connection",
        )
        axes.legend(["claim script", "bare EVALSHA"])


def _rows(mode: Durability, candidates: int, calls: ClaimCalls, single: int, tick: Callable[[], Any]) -> Iterator[Row]:
    one = _measured(calls, _one_by_one(calls, single), single, tick)
    many = _measured(calls, _bunched(calls), SENT_EACH, tick)
    for what, measured, depth in (("latency", one, 1), ("rate", many, DEPTH)):
        figures = _figures(*measured, depth)
        ratio = figures["p50_us"] / figures["bare_p50_us"]
        yield Row(f"claim {what}", ratio, BUDGET, figures={"fsync": mode, "candidates": candidates, **figures})


def _measured(
    calls: ClaimCalls, subjects: dict[str, Subject], size: int, tick: Callable[[], Any]
) -> tuple[dict[str, Times], Counter[str]]:
    """Return the calls' times, and the server's own microseconds for each subject's calls, the thrown away too."""
    spent: Counter[str] = Counter()

    @contextlib.contextmanager
    def watch(which: str) -> Iterator[None]:
        before = _evalsha_us(calls.client)
        yield
        spent[which] += _evalsha_us(calls.client) - before

    return interleave(subjects, lots=LOTS, size=size, tick=tick, watch=watch), spent


def _one_by_one(calls: ClaimCalls, single: int) -> dict[str, Subject]:
    def subject(which: str) -> Subject:
        made = calls.ready(which, (LOTS + 1) * single, 0)
        return lambda number: _demand(which, [calls.client.evalsha(*made[number])])

    return {BARE: subject(BARE), MINE: subject(MINE)}


def _bunched(calls: ClaimCalls) -> dict[str, Subject]:
    def subject(which: str) -> Subject:
        made = calls.ready(which, (LOTS + 1) * SENT_EACH * DEPTH, 0)
        return lambda number: _demand(which, send(calls.client, made[number * DEPTH : (number + 1) * DEPTH]))

    return {BARE: subject(BARE), MINE: subject(MINE)}


def _demand(which: str, answers: Sequence[Any]) -> None:
    """Raise CommandFailed unless each call claimed: a refusal would be cheaper than what is asked about."""
    for answer in answers:
        if not answer[0]:
            raise CommandFailed(f"A call of the {which} script claimed nothing ({answer}): choose fewer --calls")


def _evalsha_us(client: redis.Redis) -> int:
    counted: Any = client.info("commandstats")
    return counted.get("cmdstat_evalsha", {}).get("usec", 0)


def _figures(times: dict[str, Times], spent: Counter[str], depth: int) -> dict[str, float]:
    mine, bare = times[MINE], times[BARE]
    calls = len(mine.seconds) * depth * (LOTS + 1) / LOTS
    return {
        "p50_us": mine.p50_us / depth,
        "p99_us": mine.p99_us / depth,
        "bare_p50_us": bare.p50_us / depth,
        "bare_p99_us": bare.p99_us / depth,
        "calls_per_s": mine.per_second * depth,
        "bare_calls_per_s": bare.per_second * depth,
        "server_us": spent[MINE] / calls,
        "bare_server_us": spent[BARE] / calls,
    }
