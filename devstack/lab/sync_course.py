# SPDX-License-Identifier: Apache-2.0
"""The course of gantt-lab sync: start workers, report, pause one of them, and compare all with a snapshot."""

import json
import os
import signal
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import redis

from devstack.lab import sync_load
from devstack.lab.crew import Crew
from devstack.lab.hosts import Nodes
from devstack.lab.sync_load import Reported, Wish
from devstack.lab.sync_table import digest
from devstack.lab.sync_worker import PARTITION, Seen, Started, open_store, starting
from rpcapi.shell.faults import CommandFailed
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.redis.keys import prefix

STARTS = 3
ROUNDS = 3  # reports of each service host that the paused worker has to catch up with
WAIT_SECONDS = 120.0
LOT = 1000  # entries that one read brings, as the replica's


@dataclass(frozen=True, slots=True)
class CaughtUp:
    """How a worker that had been paused caught up: entries, seconds, and those of reading and decoding alone."""

    entries: int
    seconds: float
    bare_s: float


@dataclass(frozen=True, slots=True)
class Findings:
    """All that was measured. ``seen`` and ``after`` hold one element a worker, before and after the pause."""

    nodes: int
    starts: Sequence[Started]
    reported: Reported
    bare_delays: Sequence[float]
    seen: Sequence[Seen]
    after: Sequence[Seen]
    caught_up: CaughtUp
    reference: str


def measure(url: str, nodes: Nodes, workers: int, wish: Wish, bar: Any) -> Findings:
    """Measure on the store at ``url``, whose hosts have joined; ``bar`` is moved on by the seconds of reports."""
    starts = [_start(url) for _ in range(STARTS)]
    with (
        Crew(workers, starting(url)) as crew,
        Crew(1, sync_load.agents(url, nodes)) as load,
        Crew(1, sync_load.bare(url)) as floor,
    ):
        begun = crew.hear(WAIT_SECONDS)
        floor.hear(WAIT_SECONDS)
        reported = _report(load, wish, bar)
        seen = _ask(crew, workers, reported.position)
        floor.tell([None])
        (delays,) = floor.hear(WAIT_SECONDS)
        caught_up, after = _pause(url, crew, [each.pid for each in begun], load)
    return Findings(len(nodes), starts, reported, delays, seen, after, caught_up, _reference(url))


def _start(url: str) -> Started:
    with Crew(1, starting(url, floor=True)) as alone:
        return alone.hear(WAIT_SECONDS)[0]


def _report(load: Crew, wish: Wish, bar: Any) -> Reported:
    began, shown = time.monotonic(), 0

    def watch() -> None:
        nonlocal shown
        now = min(round(time.monotonic() - began), round(wish.seconds))
        bar.update(now - shown)
        shown = now

    load.tell([wish])
    reported: Reported = load.hear(wish.seconds + WAIT_SECONDS, watch)[0]
    if not reported.sent:
        raise CommandFailed(f"Of {reported.reports} reports none changed anything: choose more --minutes or --change")
    return reported


def _ask(crew: Crew, workers: int, position: int) -> list[Seen]:
    crew.tell([position] * workers)
    return crew.hear(WAIT_SECONDS)


def _pause(url: str, crew: Crew, pids: Sequence[int], load: Crew) -> tuple[CaughtUp, list[Seen]]:
    """Stop the first worker while much is reported, and let it go on."""
    with closing(open_store(url)) as store:
        before = store.snapshot().position
    os.kill(pids[0], signal.SIGSTOP)  # where the lab ends here, the crew is ended by a signal that needs no answer
    for _ in range(ROUNDS):
        load.tell([Wish(0, sync_load.ALL)])
        (reported,) = load.hear(WAIT_SECONDS)
    resumed = time.monotonic()
    os.kill(pids[0], signal.SIGCONT)
    after = _ask(crew, len(pids), reported.position)
    reached = next(at for position, at in after[0].moments if position >= reported.position)
    return CaughtUp(reported.position - before, reached - resumed, _bare_read(url, before)), after


def _bare_read(url: str, position: int) -> float:
    """Return the seconds that it takes to read the log from there and decode it, and to apply nothing."""
    began = time.monotonic()
    with redis.Redis.from_url(url, decode_responses=True) as client:
        key = prefix(PARTITION) + "log"
        while found := client.xread({key: f"{position}-0"}, count=LOT):
            entries: Any = found[0][1]
            for _entry, fields in entries:
                json.loads(fields["body"])
            position = int(entries[-1][0].partition("-")[0])
    return time.monotonic() - began


def _reference(url: str) -> str:
    """Return the digest of a table that was never kept fresh, but loaded now."""
    with closing(open_store(url)) as store:
        fresh = Replica(store)
        fresh.load()
        return digest(fresh.table)
