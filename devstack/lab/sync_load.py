# SPDX-License-Identifier: Apache-2.0
"""Agents as the store sees them: reports at the rate of so many hosts a minute, and some of them change something."""

import contextlib
import functools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import redis

from devstack.lab.crew import Line
from devstack.lab.hosts import Nodes
from devstack.lab.sync_worker import TURN, open_store
from rpcapi.model.inventory import Inventory
from rpcapi.model.names import host_of
from scheduler_svc.store.redis import RedisStore

MINUTE = 60.0
STREAM = "gantt-lab:bare"
SEED = 7
ALL = 1.0


@dataclass(frozen=True, slots=True)
class Reported:
    """What a spell of reports did: (position, when it was sent) of each that changed something.

    ``late_s`` is by how much the last report came too late: more than a moment means that the rate was not kept.
    """

    sent: Sequence[tuple[int, float]]
    position: int
    reports: int
    late_s: float


@dataclass(frozen=True, slots=True)
class Wish:
    """Reports of all hosts, in turn, for so many seconds at the rate of one a minute each; 0: one round at once."""

    seconds: float
    share: float  # of the nodes that change


def spread(per_host: int, made: Nodes) -> dict[str, dict[str, Any]]:
    """Return the nodes under names of service hosts that have ``per_host`` of them."""
    return {f"host{number // per_host}/node{number % per_host}": made[name] for number, name in enumerate(made)}


class Agents:
    """Every service host's next report, after the full one that it joined with."""

    def __init__(self, store: RedisStore, nodes: Nodes) -> None:
        self._store = store
        self._nodes = nodes
        self._by_host: dict[str, list[str]] = {}
        for name in nodes:
            self._by_host.setdefault(host_of(name), []).append(name)
        self._sequences = dict.fromkeys(self._by_host, 1)
        self._chance = random.Random(SEED)

    def send(self, wish: Wish, changed: Callable[[], None]) -> Reported:
        """Report as wished; ``changed`` is called after each report that changed something."""
        hosts = list(self._by_host)
        every = MINUTE / len(hosts) if wish.seconds else 0.0
        rounds = max(1, round(wish.seconds / every)) if wish.seconds else len(hosts)
        began = time.monotonic()
        sent: list[tuple[int, float]] = []
        position, late = 0, 0.0
        for number in range(rounds):
            due = began + number * every
            late = time.monotonic() - due
            if late < 0:
                time.sleep(-late)
            told = dict(self._news(self._by_host[hosts[number % len(hosts)]], wish.share))
            at = time.monotonic()
            position = self._report(hosts[number % len(hosts)], told)
            if told:
                sent.append((position, at))
                changed()
        return Reported(sent, position, rounds, max(0.0, late))

    def _news(self, names: Sequence[str], share: float) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield what changed: an operator's hand, or what runs beside the guests, holds another amount of memory."""
        for name in names:
            if self._chance.random() < share:
                held = self._nodes[name]["inventories"]
                total = held["MEMORY_MB"]["total"]
                memory = Inventory(total, reserved=self._chance.randrange(1, total // 2)).as_dict()
                yield name, {"inventories": {**held, "MEMORY_MB": memory}}

    def _report(self, host: str, told: Mapping[str, Any]) -> int:
        base = self._sequences[host]
        self._sequences[host] = base + 1
        outcome = self._store.update_stats(host, incarnation=1, sequence=base + 1, base=base, full=False, nodes=told)
        return outcome.position


def agents(url: str, nodes: Nodes) -> Callable[[Line, int], None]:
    """Return the task of the process that reports; it is told a Wish and answers Reported."""
    return functools.partial(_load, url, nodes)


def _load(url: str, nodes: Nodes, line: Line, index: int) -> None:
    store = open_store(url)
    its = Agents(store, nodes)
    with redis.Redis.from_url(url, decode_responses=True) as client, contextlib.suppress(EOFError):

        def mark() -> None:
            client.xadd(STREAM, {"sent": repr(time.monotonic())}, maxlen=1000)

        while True:
            line.send(its.send(line.recv(), mark))


def bare(url: str) -> Callable[[Line, int], None]:
    """Return the task of the floor: follow a stream of nothing but sending times; asked, tell the delays in s."""
    return functools.partial(_follow_bare, url)


def _follow_bare(url: str, line: Line, index: int) -> None:
    delays: list[float] = []
    after = "0"
    with redis.Redis.from_url(url, decode_responses=True) as client, contextlib.suppress(EOFError):
        line.send(None)
        while True:
            found: Any = client.xread({STREAM: after}, block=round(TURN * 1000))
            for _stream, entries in found:
                now = time.monotonic()
                delays += [now - float(fields["sent"]) for _entry, fields in entries]
                after = entries[-1][0]
            if line.poll():
                line.recv()
                line.send(delays)
                delays = []
