# SPDX-License-Identifier: Apache-2.0
"""Simulated agents that send reports to the store at a fixed rate, some of them with changes."""

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from devstack.lab.hosts import Nodes, by_service_host
from devstack.lab.sync.worker import POLL_SECONDS, open_store
from devstack.lab.worker_processes import PipeEnd
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.records import HostReport
from scheduler_svc.store.redis import RedisStore

MINUTE = 60.0
STREAM = "gantt-lab:bare"
SEED = 7
ALL = 1.0


@dataclass(frozen=True, slots=True)
class ReportTimes:
    """Position and sending time of each report with a change; ``late_s`` is the last report's delay."""

    sent: Sequence[tuple[int, float]]
    position: int
    reports: int
    late_s: float


@dataclass(frozen=True, slots=True)
class ScheduledReports:
    """Reports of all hosts, one per host and minute for ``seconds``; with 0 one report each, immediately."""

    seconds: float
    share: float


def spread(per_host: int, nodes: Nodes) -> dict[str, dict[str, Any]]:
    return {f"host{number // per_host}/node{number % per_host}": nodes[name] for number, name in enumerate(nodes)}


class ReportingAgents:
    """Senders of one full report per service host, then of incremental reports."""

    def __init__(self, store: RedisStore, nodes: Nodes) -> None:
        self._store = store
        self._by_host = by_service_host(nodes)
        self._sequences = dict.fromkeys(self._by_host, 1)
        self._incarnations = {host: self._register(host) for host in self._by_host}
        self._chance = random.Random(SEED)

    def send(self, plan: ScheduledReports, on_change: Callable[[], None]) -> ReportTimes:
        hosts = list(self._by_host)
        every = MINUTE / len(hosts) if plan.seconds else 0.0
        rounds = max(1, round(plan.seconds / every)) if plan.seconds else len(hosts)
        began = time.monotonic()
        sent_reports: list[tuple[int, float]] = []
        position, late_s = 0, 0.0
        for number in range(rounds):
            due_at = began + number * every
            late_s = time.monotonic() - due_at
            if late_s < 0:
                time.sleep(-late_s)
            host = hosts[number % len(hosts)]
            changes = dict(self._changes(host, plan.share))
            sent_at = time.monotonic()
            position = self._report(host, changes)
            if changes:
                sent_reports.append((position, sent_at))
                on_change()
        return ReportTimes(sent_reports, position, rounds, max(0.0, late_s))

    def _changes(self, host: str, share: float) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for name, node in self._by_host[host].items():
            if self._chance.random() < share:
                inventories = node["inventories"]
                total = inventories["MEMORY_MB"]["total"]
                memory = Inventory(total, reserved=self._chance.randrange(1, total // 2)).as_dict()
                yield name, {"inventories": {**inventories, "MEMORY_MB": memory}}

    def _register(self, host: str) -> int:
        nodes = self._by_host[host]
        report = HostReport(incarnation=0, sequence=1, nodes=nodes, register=True, agent="reporter")
        return self._store.update_stats(host, report).incarnation

    def _report(self, host: str, changes: Mapping[str, Any]) -> int:
        base = self._sequences[host]
        self._sequences[host] = base + 1
        incarnation = self._incarnations[host]
        report = HostReport(incarnation=incarnation, sequence=base + 1, base=base, full=False, nodes=changes)
        return self._store.update_stats(host, report).position


def send_reports(url: str, nodes: Nodes, pipe: PipeEnd, index: int) -> None:
    """Answer each received ScheduledReports with ReportTimes, in the reporting process."""
    with (
        open_store(url) as store,
        redis.Redis.from_url(url, decode_responses=True) as client,
        contextlib.suppress(EOFError),
    ):
        agents = ReportingAgents(store, nodes)

        def mark() -> None:
            client.xadd(STREAM, {"sent": repr(time.monotonic())}, maxlen=1000)

        while True:
            pipe.send(agents.send(pipe.recv(), mark))


def follow_bare(url: str, pipe: PipeEnd, index: int) -> None:
    """Follow a stream of sending times, and answer with the delays in seconds, in the baseline's process."""
    delays: list[float] = []
    after = "0"
    with redis.Redis.from_url(url, decode_responses=True) as client, contextlib.suppress(EOFError):
        pipe.send(None)
        while True:
            streams: Any = client.xread({STREAM: after}, block=round(POLL_SECONDS * 1000))
            for _stream, entries in streams:
                now = time.monotonic()
                delays += [now - float(fields["sent"]) for _entry, fields in entries]
                after = entries[-1][0]
            if pipe.poll():
                pipe.recv()
                pipe.send(delays)
                delays = []
