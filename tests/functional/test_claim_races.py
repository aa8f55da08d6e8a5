# SPDX-License-Identifier: Apache-2.0
"""Workers that claim the same resources concurrently on separate connections: nothing is allocated twice."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import Candidate, Claim, ClaimBatch, ClaimGroup, ClaimRef, Intent
from scheduler_svc.store.redis import RedisStore
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import StorePartition, child_stats, node_stats

WORKERS = 16
HOSTS = [f"h{number}" for number in range(WORKERS)]
DEVICES = 4  # per host, each for one consumer
TTL_MS = 600_000
ROUNDS = [
    pytest.param(40, id="short"),
    pytest.param(3000, id="long", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]


class WorkerCrew:
    """Workers that start each round together; their actions are seeded by round and worker."""

    def __init__(self, partition: StorePartition, server: RedisServer) -> None:
        self.partition = partition
        self.stores = [RedisStore(server.url(), partition.store.partition) for _ in range(WORKERS)]
        self._pool = ThreadPoolExecutor(WORKERS)
        self._start = threading.Barrier(WORKERS)

    def race(self, boot: Callable[[RedisStore, int], bool]) -> int:
        """Run ``boot(store, number)`` in each worker; return how many succeeded."""

        def boot_worker(number: int) -> bool:
            self._start.wait(30)
            return boot(self.stores[number], number)

        return sum(self._pool.map(boot_worker, range(WORKERS), timeout=60))

    def read_position(self) -> tuple[int, int]:
        """Return the current epoch and position."""
        now = self.partition.store.snapshot()
        return now.epoch, now.position

    def end_all(self) -> list[Claim]:
        """Release all live claims, and return them."""
        live_claims, following = self.partition.store.claims()
        assert following is None
        for host, held_counts in itertools.groupby(live_claims, key=lambda claim: claim.host):
            self.partition.store.release(host, [ClaimRef(claim.consumer, claim.attempt) for claim in held_counts])
        return live_claims

    def close(self) -> None:
        self._pool.shutdown()
        for store in self.stores:
            store.close()


@pytest.fixture
def crew(redis_server: RedisServer) -> Iterator[WorkerCrew]:
    new_crew = WorkerCrew(redis_partition(redis_server), redis_server)
    yield new_crew
    new_crew.close()
    new_crew.partition.store.close()


@dataclass(frozen=True)
class ClaimRound:
    """The candidates of all workers in a round, read at ``known_position`` before it: every worker is stale."""

    number: int
    candidates: Sequence[Candidate]
    known_position: tuple[int, int]  # epoch, position
    group: ClaimGroup | None = None

    @property
    def is_plain(self) -> bool:
        """Whether every worker boots exactly once, so that every accepted claim is live at the end."""
        return self.number % 4 < 2

    def boot(self, store: RedisStore, worker: int) -> bool:
        """Claim; in half of the rounds keep, confirm, abort or replace the claim at random."""
        random, consumer = Random(f"{self.number} {worker}"), f"c{self.number}-{worker}"
        # In half of the rounds all workers prefer the same host, in half different ones.
        ranked = self._shuffled(random) if self.number % 2 else self.candidates
        accepted = store.prepare(self._batch(consumer, 1, ranked)).accepted
        action = "keep" if self.is_plain else random.choice(["keep", "confirm", "abort", "replace"])
        if action == "abort":
            store.abort([ClaimRef(consumer, 1)])
        elif action == "replace" and accepted:
            store.prepare(self._batch(consumer, 2, self._shuffled(random)))
        elif action == "confirm" and accepted:
            (claim,), _marker = store.claims(consumer=consumer)
            store.confirm(claim.host, [ClaimRef(consumer, 1)])
        return accepted

    def _shuffled(self, random: Random) -> list[Candidate]:
        return random.sample(self.candidates, len(self.candidates))

    def _batch(self, consumer: str, attempt: int, ranked: Sequence[Candidate]) -> ClaimBatch:
        epoch, position = self.known_position
        claim_intent = Intent(consumer, attempt, ranked, attempt - 1 or None)
        return ClaimBatch(
            "req-1",
            "p",
            "u",
            {"VCPU": 1},
            [claim_intent],
            epoch=epoch,
            position=position,
            ttl_ms=TTL_MS,
            group=self.group,
        )


GROUPS = {
    "one a host": (GroupPolicy.ANTI_AFFINITY, 1),
    "two a host": (GroupPolicy.ANTI_AFFINITY, 2),
    "all together": (GroupPolicy.AFFINITY, 1),
}


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("policy", GROUPS)
def test_concurrent_workers_respect_the_server_group_policy(crew: WorkerCrew, policy: str, rounds: int) -> None:
    kind, most = GROUPS[policy]
    for host in HOSTS:
        crew.partition.add_host(host, amounts={"VCPU": 64})
    # Exactly as many places as workers: with anti-affinity each place is needed.
    hosts, violations = HOSTS[: WORKERS // most], 0
    for number in range(rounds):
        group = ClaimGroup(f"group{number}", kind, most)
        race_round = ClaimRound(number, [Candidate(host) for host in hosts], crew.read_position(), group)
        served = crew.race(race_round.boot)
        held_counts = Counter(claim.host for claim in crew.end_all())
        violations += (
            len(held_counts) > 1 if kind is GroupPolicy.AFFINITY else sum(n > most for n in held_counts.values())
        )
        if race_round.is_plain:
            assert served == held_counts.total() == WORKERS, "a worker was refused although a place was free"
    assert violations == 0
    assert crew.partition.check().claims == {"prepared": 0, "confirmed": 0}


@pytest.mark.parametrize("rounds", ROUNDS)
def test_concurrent_workers_do_not_share_devices(crew: WorkerCrew, rounds: int) -> None:
    hosts = HOSTS[: WORKERS // DEVICES]
    devices = {f"{host}/gpu{number}": host for host in hosts for number in range(DEVICES)}
    for host in hosts:
        below = {name: child_stats(host, {"CUSTOM_GPU": 1}) for name, of in devices.items() if of == host}
        outcome = crew.partition.report(host, {host: node_stats({"VCPU": 64}), **below})
        crew.partition.store.audit(host, outcome.epoch, [], 0)
    device_candidates = [
        Candidate(host, {host: {"VCPU": 1}, name: {"CUSTOM_GPU": 1}}) for name, host in devices.items()
    ]
    violations = 0
    for number in range(rounds):
        race_round = ClaimRound(number, device_candidates, crew.read_position())
        served = crew.race(race_round.boot)
        held_counts = Counter(name for claim in crew.end_all() for name in claim.allocations if name in devices)
        violations += sum(n > 1 for n in held_counts.values())
        if race_round.is_plain:
            assert served == len(held_counts) == WORKERS, "a worker was refused although a device was free"
        assert max_holders(crew.partition, race_round.known_position[1], devices) == 1
    assert violations == 0
    assert crew.partition.check().claims == {"prepared": 0, "confirmed": 0}


def max_holders(partition: StorePartition, position: int, devices: Container[str]) -> int:
    """Return the maximum number of consumers of a device at any time since ``position``."""
    entries = partition.store.follow(position, 0) or ()
    payloads = [entry.payload for entry in entries if entry.kind == "used"]
    return max(used.get("CUSTOM_GPU", 0) for payload in payloads for name, used in payload.items() if name in devices)
