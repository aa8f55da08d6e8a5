# SPDX-License-Identifier: Apache-2.0
"""Placing in this process: a worker's own selector and replica on a store, without bus, conductor and agents."""

import contextlib
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence

from devstack.lab import hosts, private_redis
from devstack.lab.replay.arrivals import Wanted
from devstack.lab.replay.placer import Given, Placed, Refused
from devstack.lab.replay.policies import Policy
from rpcapi import context, errors
from rpcapi.model.names import host_of
from scheduler_svc.deciding.asked import Asked, Decided
from scheduler_svc.deciding.batch import BatchSelector
from scheduler_svc.deciding.select import CHUNK, Patience, Selector
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.following.replica import Replica
from scheduler_svc.request import Request
from scheduler_svc.store.interface import Store
from scheduler_svc.store.memory import MemoryStore
from scheduler_svc.store.records import Ref
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.table.table import HostTable

PARTITION = "replay"
LONG_MS = 86_400_000  # nothing expires and no host dies while the lab runs
TOMBSTONE_MS = 1_000  # nothing is retried
LOG_LENGTH = 5_000  # entries of the memory backend, which looks at each of them whenever it is asked for the last
DECISIONS = 100  # nobody reads them
BATCH = 100  # requests that a driver ranks together, where it can
TIDY_EVERY = 400  # departures: fewer than one round of tidying takes


class InProcess:
    """One worker that decides on what it knows, claims, and confirms at once in the agent's place."""

    def __init__(self, store: Store, replica: Replica, driver: Driver, follows: bool) -> None:
        """Place on ``store``; ``follows`` tells whether the replica follows by itself, in its thread."""
        self.store = store
        self.seconds = 0.0
        self._replica = replica
        self._follows = follows
        selector = Selector(store, replica, driver, Patience(ttl_ms=LONG_MS), store.record_decision)
        self._selector = BatchSelector(selector)
        self._batch = BATCH if driver.batches(Request("look", {})) else 1
        self._untidied = 0

    def place(self, wanted: Sequence[Wanted], refused: Refused) -> list[Given]:
        """Place one request after the other, or by batches where the driver ranks them together."""
        given: list[Given] = []
        for start in range(0, len(wanted), self._batch):
            part = wanted[start : start + self._batch]
            began = time.perf_counter()
            hosts_given = self._place(part)
            self.seconds += time.perf_counter() - began
            for one, its in zip(part, hosts_given, strict=True):
                if its is None:
                    refused(one)
            given += hosts_given
        return given

    def leave(self, leaving: Sequence[Placed]) -> None:
        """Release the claims, as each host's agent would."""
        for host, refs in _by_service_host((placed.member.consumer, placed.host) for placed in leaving):
            self.store.release(host, refs)
        self._untidied += len(leaving)
        while self._untidied >= TIDY_EVERY:
            self.store.reap(dead_after_ms=LONG_MS, tombstone_ms=TOMBSTONE_MS)
            self._untidied -= TIDY_EVERY
        if not self._follows:
            self._catch_up()

    def _place(self, wanted: Sequence[Wanted]) -> list[Given]:
        calls = [Asked(Request(one.id, one.resources), [each.consumer for each in one.members]) for one in wanted]
        given: list[Given] = []
        for outcome in self._selector.select_batch(context.new("lab", "lab"), calls):
            if isinstance(outcome, Decided):
                given.append([str(prepared.host) for prepared in outcome.prepared])
            elif isinstance(outcome, errors.NoValidHost):
                given.append(None)
            else:
                raise outcome
        placed = [
            (consumer, host)
            for call, its in zip(calls, given, strict=True)
            for consumer, host in zip(call.consumers, its or (), strict=its is not None)
        ]
        for host, refs in _by_service_host(iter(placed)):
            self.store.confirm(host, refs)
        return given

    def _catch_up(self) -> None:
        """Let the worker know all that happened."""
        before = -1
        while before != self._replica.table.position:
            before = self._replica.table.position
            self._replica.step(0)


def _by_service_host(claims: Iterator[tuple[str, str]]) -> Iterator[tuple[str, list[Ref]]]:
    by_host: dict[str, list[Ref]] = defaultdict(list)
    for consumer, host in claims:
        by_host[host_of(host)].append(Ref(consumer, 1))
    for host, refs in by_host.items():
        for start in range(0, len(refs), CHUNK):
            yield host, refs[start : start + CHUNK]


@contextlib.contextmanager
def in_memory(nodes: hosts.Nodes, policy: Policy) -> Iterator[InProcess]:
    """Place on the memory backend: what happened before a moment the worker has seen, and all its own claims."""
    store = MemoryStore(PARTITION, log_length=LOG_LENGTH, decisions=DECISIONS)
    hosts.join(store, nodes)
    replica = Replica(store, table=HostTable([PARTITION], policy.driver.reads))
    replica.load()
    yield InProcess(store, replica, policy.driver, follows=False)


@contextlib.contextmanager
def in_redis(nodes: hosts.Nodes, policy: Policy) -> Iterator[InProcess]:
    """Place on a redis-server (everysec), with a replica that follows in its own thread; leaves nothing behind."""
    with private_redis.running("everysec") as server:
        store, followed = (RedisStore(server.url(), PARTITION, decisions=DECISIONS) for _ in range(2))
        store.check_identity()
        hosts.join(store, nodes)
        replica = Replica(followed, table=HostTable([PARTITION], policy.driver.reads))
        try:
            replica.load()
            replica.start()
            yield InProcess(store, replica, policy.driver, follows=True)
        finally:
            replica.stop()
            replica.wait()
            store.close()
            followed.close()
