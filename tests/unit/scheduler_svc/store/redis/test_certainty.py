# SPDX-License-Identifier: Apache-2.0
"""Writes by the Placement API of which no answer came."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
import redis

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, Refusal, RefusalKind, SetInventories
from scheduler_svc.store.redis import RedisStore
from tests.unit.scheduler_svc.store.backends import redis_partition

PROVIDER = "@api/" + str(uuid.UUID(int=1))
OTHER = "@api/" + str(uuid.UUID(int=2))


class LosingStore(RedisStore):
    """A store whose next answer to a script gets lost, before or after it is carried out."""

    def lose(self, script: str, *, is_carried_out: bool) -> None:
        connection, evaluate = self._connection, self._connection._evaluate

        def lossy(loaded: Any, *arguments: Any) -> Any:
            if loaded.name != script:
                return evaluate(loaded, *arguments)
            connection._evaluate = evaluate  # type: ignore[method-assign]
            if is_carried_out:
                evaluate(loaded, *arguments)
            raise redis.ConnectionError("the connection is lost")

        connection._evaluate = lossy  # type: ignore[method-assign]


@pytest.fixture
def store(redis_server: Any) -> LosingStore:
    name = redis_partition(redis_server).store.partition
    store = LosingStore(redis_server.url(), name)
    store.change_provider(CreateProvider(PROVIDER, "p"))
    store.change_provider(SetInventories(PROVIDER, {"VCPU": Inventory(8)}, 0))
    return store


def holding(amount: int, generation: Any) -> AllocationChange:
    return AllocationChange("c", {PROVIDER: {"VCPU": amount}}, "project", "user", generation)


WRITES: list[tuple[str, Callable[[RedisStore], Any]]] = [
    ("change_provider", lambda store: store.change_provider(CreateProvider(OTHER, "q"))),
    ("change_provider", lambda store: store.change_provider(SetInventories(PROVIDER, {"VCPU": Inventory(9)}, 1))),
    ("allocate", lambda store: store.allocate([holding(1, None)])),
]


@pytest.mark.parametrize(("script", "write"), WRITES)
def test_write_that_may_have_been_carried_out_is_not_refused(
    store: LosingStore, script: str, write: Callable[[RedisStore], Any]
) -> None:
    store.lose(script, is_carried_out=True)
    with pytest.raises(errors.StoreUnavailable, match="may have been carried out"):
        write(store)
    assert isinstance(write(store), Refusal), "it was carried out"


@pytest.mark.parametrize(("script", "write"), WRITES)
def test_write_that_was_lost_on_its_way_is_carried_out(
    store: LosingStore, script: str, write: Callable[[RedisStore], Any]
) -> None:
    store.lose(script, is_carried_out=False)
    assert not isinstance(write(store), Refusal)


def test_write_that_fits_again_is_carried_out(store: LosingStore) -> None:
    store.lose("allocate", is_carried_out=True)
    assert store.allocate([holding(1, ANY)]) is None


def test_refusal_that_was_answered_stands_after_a_lost_answer_to_another_write(store: LosingStore) -> None:
    store.lose("allocate", is_carried_out=True)
    store.allocate([holding(1, ANY)])
    refusal = store.allocate([holding(1, None)])
    assert refusal is not None and refusal.kind is RefusalKind.CONSUMER
