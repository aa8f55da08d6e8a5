# SPDX-License-Identifier: Apache-2.0
"""Workers that want the same at the same moment, each on connections of its own: nobody gets what another has."""

import itertools
import threading
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.model.claims import GroupPolicy
from scheduler_svc.store.records import Candidate, Claim, ClaimBatch, ClaimGroup, ClaimRef, Intent
from scheduler_svc.store.redis import RedisStore
from tests.unit.scheduler_svc.store.backends import redis_world
from tests.unit.scheduler_svc.store.world import World, child_stats, node_stats

WORKERS = 16
HOSTS = [f"h{number}" for number in range(WORKERS)]
DEVICES = 4  # of a host, each for one holder
TTL_MS = 600_000
ROUNDS = [
    pytest.param(40, id="short"),
    pytest.param(3000, id="long", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]


class Crew:
    """Workers that all begin each round at once; what they do is theirs, from a seed of the round and the worker."""

    def __init__(self, world: World, server: RedisServer) -> None:
        self.world = world
        self.stores = [RedisStore(server.url(), world.store.partition) for _ in range(WORKERS)]
        self._pool = ThreadPoolExecutor(WORKERS)
        self._start = threading.Barrier(WORKERS)

    def race(self, boot: Callable[[RedisStore, int], bool]) -> int:
        """Let each worker boot, given its store and number; return how many were served."""

        def one(number: int) -> bool:
            self._start.wait(30)
            return boot(self.stores[number], number)

        return sum(self._pool.map(one, range(WORKERS), timeout=60))

    def seen(self) -> tuple[int, int]:
        """Return the epoch and position of now."""
        now = self.world.store.snapshot()
        return now.epoch, now.position

    def end_all(self) -> list[Claim]:
        """End all live claims, and return them as they were."""
        found, following = self.world.store.claims()
        assert following is None
        for host, held in itertools.groupby(found, key=lambda claim: claim.host):
            self.world.store.release(host, [ClaimRef(claim.consumer, claim.attempt) for claim in held])
        return found

    def close(self) -> None:
        self._pool.shutdown()
        for store in self.stores:
            store.close()


@pytest.fixture
def crew(redis_server: RedisServer) -> Iterator[Crew]:
    made = Crew(redis_world(redis_server), redis_server)
    yield made
    made.close()
    made.world.store.close()


@dataclass(frozen=True)
class Round:
    """What all workers of a round want, decided on what was ``seen`` before it: all of them are behind."""

    number: int
    candidates: Sequence[Candidate]
    seen: tuple[int, int]  # epoch, position
    group: ClaimGroup | None = None

    @property
    def is_plain(self) -> bool:
        """Whether everybody boots once, so that all who find a place have it at the end."""
        return self.number % 4 < 2

    def boot(self, store: RedisStore, worker: int) -> bool:
        """Boot; in half of the rounds keep what was got, give it up, or have it replaced by one elsewhere."""
        random, consumer = Random(f"{self.number} {worker}"), f"c{self.number}-{worker}"
        # In half of the rounds all want the same first, in half everybody another.
        ranked = self._shuffled(random) if self.number % 2 else self.candidates
        accepted = store.prepare(self._batch(consumer, 1, ranked)).accepted
        fate = "keep" if self.is_plain else random.choice(["keep", "confirm", "abort", "replace"])
        if fate == "abort":
            store.abort([ClaimRef(consumer, 1)])
        elif fate == "replace" and accepted:
            store.prepare(self._batch(consumer, 2, self._shuffled(random)))
        elif fate == "confirm" and accepted:
            (claim,), _marker = store.claims(consumer=consumer)
            store.confirm(claim.host, [ClaimRef(consumer, 1)])
        return accepted

    def _shuffled(self, random: Random) -> list[Candidate]:
        return random.sample(self.candidates, len(self.candidates))

    def _batch(self, consumer: str, attempt: int, ranked: Sequence[Candidate]) -> ClaimBatch:
        epoch, position = self.seen
        wish = Intent(consumer, attempt, ranked, attempt - 1 or None)
        return ClaimBatch(
            "req-1", "p", "u", {"VCPU": 1}, [wish], epoch=epoch, position=position, ttl_ms=TTL_MS, group=self.group
        )


GROUPS = {
    "one a host": (GroupPolicy.ANTI_AFFINITY, 1),
    "two a host": (GroupPolicy.ANTI_AFFINITY, 2),
    "all together": (GroupPolicy.AFFINITY, 1),
}


@pytest.mark.parametrize("rounds", ROUNDS)
@pytest.mark.parametrize("policy", GROUPS)
def test_sixteen_workers_boot_one_server_group_at_once(crew: Crew, policy: str, rounds: int) -> None:
    kind, most = GROUPS[policy]
    for host in HOSTS:
        crew.world.add_host(host, amounts={"VCPU": 64})
    # Just as many places as there are workers: where all are to be apart, each of them is needed.
    hosts, violations = HOSTS[: WORKERS // most], 0
    for number in range(rounds):
        group = ClaimGroup(f"group{number}", kind, most)
        each = Round(number, [Candidate(host) for host in hosts], crew.seen(), group)
        served = crew.race(each.boot)
        held = Counter(claim.host for claim in crew.end_all())
        violations += len(held) > 1 if kind is GroupPolicy.AFFINITY else sum(n > most for n in held.values())
        if each.is_plain:
            assert served == held.total() == WORKERS, "somebody was refused a place that was free"
    assert violations == 0
    assert crew.world.check().claims == {"prepared": 0, "confirmed": 0}


@pytest.mark.parametrize("rounds", ROUNDS)
def test_sixteen_workers_want_the_same_devices_at_once(crew: Crew, rounds: int) -> None:
    hosts = HOSTS[: WORKERS // DEVICES]
    devices = {f"{host}/gpu{number}": host for host in hosts for number in range(DEVICES)}
    for host in hosts:
        below = {name: child_stats(host, {"CUSTOM_GPU": 1}) for name, of in devices.items() if of == host}
        outcome = crew.world.report(host, {host: node_stats({"VCPU": 64}), **below})
        crew.world.store.audit(host, outcome.epoch, [], 0)
    wishes = [Candidate(host, {host: {"VCPU": 1}, name: {"CUSTOM_GPU": 1}}) for name, host in devices.items()]
    violations = 0
    for number in range(rounds):
        each = Round(number, wishes, crew.seen())
        served = crew.race(each.boot)
        held = Counter(name for claim in crew.end_all() for name in claim.allocations if name in devices)
        violations += sum(n > 1 for n in held.values())
        if each.is_plain:
            assert served == len(held) == WORKERS, "somebody was refused a device that was free"
        assert most_held(crew.world, each.seen[1], devices) == 1
    assert violations == 0
    assert crew.world.check().claims == {"prepared": 0, "confirmed": 0}


def most_held(world: World, position: int, devices: Container[str]) -> int:
    """Return how many holders a device had at most, at any instant since ``position``."""
    entries = world.store.follow(position, 0) or ()
    payloads = [entry.payload for entry in entries if entry.kind == "used"]
    return max(used.get("CUSTOM_GPU", 0) for told in payloads for name, used in told.items() if name in devices)
