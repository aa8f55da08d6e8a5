# SPDX-License-Identifier: Apache-2.0
"""Writers of the scheduler and of the Placement API on one store, with new epochs and failovers among their writes.

Whatever they interleave to: no capacity is exceeded, no generation repeats, and what is written together is whole.
"""

import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, ProviderState, SetInventories, SetTraits
from scheduler_svc.store.redis import RedisStore
from tests.support.store.backends import redis_partition
from tests.support.store.store_partition import LONG_MS, SHORT_MS, StorePartition

WRITERS = 16
CAPACITY = 16
POOL, OTHER = "@api/pool", "@api/other"
POOLS = (POOL, OTHER)
CONSUMERS = [f"c{number}" for number in range(6)]  # always replaced, never ended: their generations may not repeat
PAIRS = [(f"p{number}", f"q{number}") for number in range(6)]  # written and ended together
OPERATIONS = [
    pytest.param(100, id="short"),
    pytest.param(4000, id="long", marks=[pytest.mark.long, pytest.mark.timeout(1800)]),
]

Allocations = dict[str, dict[str, int]]


class Writer:
    """One writer with a connection of its own, and what it was acknowledged."""

    def __init__(
        self, number: int, partition: StorePartition, server: RedisServer, errors: list[BaseException]
    ) -> None:
        self.lock = threading.Lock()  # held during an operation
        self.provider_writes: list[tuple[str, int]] = []  # (provider, generation that was compared)
        self.consumer_writes: list[tuple[str, int]] = []
        self.counts: Counter[str] = Counter()
        self._partition = partition
        self._store = RedisStore(server.url(), partition.store.partition)
        self._random = Random(number)
        self._tokens = (f"w{number}-{count}" for count in itertools.count())
        self._shown: dict[str, int] = {}  # the last generation that this writer read, by provider or consumer
        self._errors = errors

    def run(self, operations: int) -> None:
        """Write in a random order of operations; record the first error of all writers."""
        writes = [self.replace, self.replace_pair, self.end_pair, self.claim, self.set_traits, self.read_pair]
        try:
            for _ in range(operations):
                if self._errors:
                    return
                with self.lock:
                    self._random.choice(writes)()
        except BaseException as error:
            self._errors.append(error)
            raise
        finally:
            self._store.close()

    def amounts(self) -> Allocations:
        """Return an amount from each of one or both pools."""
        pools = self._random.sample(POOLS, self._random.randint(1, len(POOLS)))
        return {pool: {"DISK_GB": self._random.randint(1, 4)} for pool in pools}

    def replace(self) -> None:
        """Replace what one consumer holds, with the generation that was read."""
        consumer = self._random.choice(CONSUMERS)
        state = self._store.read_allocations([consumer]).get(consumer)
        generation = None if state is None else state.generation
        if generation is not None:
            self._observe(consumer, generation)
        change = AllocationChange(consumer, self.amounts(), next(self._tokens), "u", generation)
        if self._store.allocate([change]) is None:
            self.counts["replaced"] += 1
            if generation is not None:
                self.consumer_writes.append((consumer, generation))

    def replace_pair(self) -> None:
        """Let both consumers of a pair hold the same, under one token, or neither."""
        token, amounts = next(self._tokens), self.amounts()
        changes = [AllocationChange(name, amounts, token, "u", ANY) for name in self._random.choice(PAIRS)]
        self.counts["pair replaced"] += self._store.allocate(changes) is None

    def end_pair(self) -> None:
        """End what both consumers of a pair hold."""
        changes = [AllocationChange(name, {}, "", "", ANY) for name in self._random.choice(PAIRS)]
        assert self._store.allocate(changes) is None

    def read_pair(self) -> None:
        """Check that both consumers of a pair are as one write left them."""
        pair = self._random.choice(PAIRS)
        states = self._store.read_allocations(pair)
        assert len(states) in (0, 2), states
        assert len({(state.project, str(state.allocations)) for state in states.values()}) <= 1, states

    def claim(self) -> None:
        """Claim for the scheduler from a pool, and end the claim in one of the possible ways."""
        consumer, amounts = next(self._tokens), self.amounts()
        ending = self._random.choice(["release", "abort", "expire"])
        options: dict[str, Any] = {"ttl_ms": SHORT_MS if ending == "expire" else LONG_MS}
        batch = self._partition.batch(Intent(consumer, 1, [Candidate("h1", amounts)]), resources={}, **options)
        if not self._store.prepare(batch).accepted:
            return
        self.counts[f"claimed, {ending}"] += 1
        if ending == "release":
            self._store.confirm("h1", [ClaimRef(consumer, 1)])
            self._store.release("h1", [ClaimRef(consumer, 1)])
        elif ending == "abort":
            self._store.abort([ClaimRef(consumer, 1)])

    def set_traits(self) -> None:
        """Replace the traits of a pool, with the generation that was read."""
        pool = self._random.choice(POOLS)
        generation = self._store.read_generations([pool])[pool]
        self._observe(pool, generation)
        trait = "CUSTOM_" + next(self._tokens).upper().replace("-", "_")
        answer = self._store.change_provider(SetTraits(pool, [trait], generation))
        if isinstance(answer, ProviderState):
            assert answer.generation == generation + 1
            self.provider_writes.append((pool, generation))

    def _observe(self, name: str, generation: int) -> None:
        assert generation >= self._shown.get(name, 0), (name, generation, self._shown)
        self._shown[name] = generation


@contextlib.contextmanager
def all_paused(writers: list[Writer]) -> Iterator[None]:
    """Let no writer be in the middle of an operation."""
    with contextlib.ExitStack() as stack:
        for writer in writers:
            stack.enter_context(writer.lock)
        yield


def check_sums(partition: StorePartition) -> None:
    used = partition.store.snapshot().used
    assert all(used.get(pool, {}).get("DISK_GB", 0) <= CAPACITY for pool in POOLS), used


def open_host(partition: StorePartition) -> None:
    partition.store.audit("h1", partition.store.snapshot().epoch, [], 0)


def disturb(partition: StorePartition, writers: list[Writer], is_over: Callable[[], bool]) -> Counter[str]:
    """Begin epochs until the writers end: in turn without a loss, and as after a failover that forgot writes."""
    counts: Counter[str] = Counter()
    while not is_over():
        with all_paused(writers):
            mark = partition.mark()
        partition.new_epoch()
        open_host(partition)
        check_sums(partition)
        with all_paused(writers):
            partition.forget_since(mark)
        open_host(partition)
        check_sums(partition)
        counts["epochs"] += 2
    return counts


@pytest.mark.parametrize("operations", OPERATIONS)
def test_no_interleaving_oversells_repeats_a_generation_or_splits_a_write(
    redis_server: RedisServer, operations: int
) -> None:
    # Given two pools from which an agent's host and clients of the API claim
    partition = redis_partition(redis_server)
    partition.add_host("h1")
    for pool in POOLS:
        partition.store.change_provider(CreateProvider(pool, pool.removeprefix("@api/")))
        partition.store.change_provider(SetInventories(pool, {"DISK_GB": Inventory(CAPACITY)}))

    # When writers of both kinds and new epochs race
    errors: list[BaseException] = []
    writers = [Writer(number, partition, redis_server, errors) for number in range(WRITERS)]
    with ThreadPoolExecutor(WRITERS) as pool:
        runs = [pool.submit(writer.run, operations) for writer in writers]
        epochs = disturb(partition, writers, lambda: all(run.done() for run in runs))
    for run in runs:
        run.result()

    # Then every kind of write succeeded at times
    counts = sum((writer.counts for writer in writers), epochs)
    kinds = (
        "replaced",
        "pair replaced",
        "claimed, release",
        "claimed, abort",
        "claimed, expire",
        "epochs",
    )
    assert all(counts[kind] for kind in kinds), counts
    # And no generation served for two writes
    for writes in ([w.provider_writes for w in writers], [w.consumer_writes for w in writers]):
        repeated = [write for write, times in Counter(itertools.chain(*writes)).items() if times > 1]
        assert sum(map(len, writes)) > 0 and repeated == []
    # And what is stored is consistent
    assert list(partition.check().excess) == []
    check_sums(partition)
    partition.store.close()
