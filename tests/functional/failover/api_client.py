# SPDX-License-Identifier: Apache-2.0
"""A client of the Placement API during a failover: it replaces what its consumer holds, and knows what it stored."""

import random
import time
from collections.abc import Callable
from typing import Any

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Claim
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, ProviderState, Refusal, RefusalKind, SetInventories
from scheduler_svc.store.redis import RedisStore

POOL = "@api/pool"
CAPACITY = 20  # less than the clients of a test want together
MOST = 8  # that one client wants
PAUSE = 0.01

Persist = Callable[[Callable[[], Any]], Any]


def make_pool(store: RedisStore) -> None:
    """Create the provider from which all clients allocate."""
    assert isinstance(store.change_provider(CreateProvider(POOL, "pool")), ProviderState)
    assert isinstance(store.change_provider(SetInventories(POOL, {"DISK_GB": Inventory(CAPACITY)})), ProviderState)


class ApiClient:
    """One client with a consumer of its own; ``persist`` repeats a verb until it is answered."""

    def __init__(self, number: int, persist: Persist) -> None:
        self.consumer = f"api{number}"
        self.accepted = self.refused = 0
        self.forgotten = 0  # acknowledged writes that the store had lost
        self._random = random.Random(number)
        self._persist = persist
        self._tokens: dict[int, str] = {}  # of what the consumer held, by its generation
        self._stored: str | None = None  # the token of the last acknowledged write

    def write(self, store: RedisStore) -> None:
        """Replace what the consumer holds, with the generation that was read."""
        state = self._read(store)
        token = f"{self.consumer}-{self.accepted + self.refused}"
        change = AllocationChange(
            self.consumer,
            {POOL: {"DISK_GB": self._random.randint(1, MOST)}},
            token,
            "u",
            None if state is None else state.generation,
        )
        refusal: Refusal | None = self._persist(lambda: store.allocate([change]))
        if refusal is not None and refusal.kind is not RefusalKind.CAPACITY:
            # The answer to the first attempt was lost, or a failover came between.
            assert refusal.kind is RefusalKind.CONSUMER, refusal
            state = self._read(store, token)
            refusal = None if state is not None and state.project == token else refusal
        if refusal is None:
            self.accepted += 1
            self._stored = token
        else:
            self.refused += 1
            time.sleep(PAUSE)

    def check(self, store: RedisStore) -> None:
        """Note whether the last acknowledged write is lost."""
        self._read(store)

    def _read(self, store: RedisStore, possible: str | None = None) -> Claim | None:
        """Return what the consumer holds; ``possible`` is the token of a write whose answer may be lost."""
        state: Claim | None = self._persist(lambda: store.read_allocations([self.consumer])).get(self.consumer)
        token = None if state is None else state.project
        if token not in (self._stored, possible):
            self.forgotten += 1
            self._stored = token
        if state is not None:
            # Each generation is that of one write, whatever the store has forgotten.
            assert self._tokens.setdefault(state.generation, state.project) == state.project, state
        return state
