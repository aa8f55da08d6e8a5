# SPDX-License-Identifier: Apache-2.0
"""Writes by the Placement API of which no answer came."""

import functools
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import redis

from rpcapi import errors
from rpcapi.resources.inventory import Inventory
from scheduler_svc.store.allocations import ANY, AllocationChange
from scheduler_svc.store.interface import Store
from scheduler_svc.store.providers.changes import CreateProvider, Refusal, RefusalKind, SetInventories
from scheduler_svc.store.redis import RedisStore
from scheduler_svc.store.sql import SqlStore
from tests.support.store.backends import redis_partition
from tests.support.store.databases import sql_partition

PROVIDER = "@api/" + str(uuid.UUID(int=1))
OTHER = "@api/" + str(uuid.UUID(int=2))


SCRIPTS = ("allocate", "commit")

Lose = Callable[..., None]  # lets the next answer get lost, after the write ``is_carried_out`` or before


@pytest.fixture(params=["redis", "sqlite", "postgresql"])
def backend(request: pytest.FixtureRequest) -> Iterator[tuple[Store, Lose]]:
    """A store whose next answer to a write can get lost."""
    store: Store
    lose: Lose
    if request.param == "redis":
        store = redis_partition(request.getfixturevalue("redis_server")).store
        lose = functools.partial(lose_in_redis, store)
    else:
        url = request.getfixturevalue("sqlite_url") if request.param == "sqlite" else postgresql_url(request)
        store = sql_partition(url).store
        lose = functools.partial(lose_in_sql, store)
    store.change_provider(CreateProvider(PROVIDER, "p"))
    store.change_provider(SetInventories(PROVIDER, {"VCPU": Inventory(8)}, 0))
    yield store, lose
    store.close()


def postgresql_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue("postgresql_server").url()
    return url


def lose_in_redis(store: RedisStore, *, is_carried_out: bool) -> None:
    connection, evaluate = store._connection, store._connection._evaluate

    losses: list[str] = []

    def lossy(script: Any, *arguments: Any) -> Any:
        if script.name not in SCRIPTS or losses:
            return evaluate(script, *arguments)
        losses.append(script.name)
        if is_carried_out:
            evaluate(script, *arguments)
        raise redis.ConnectionError("the connection is lost")

    connection._evaluate = lossy  # type: ignore[method-assign]


def lose_in_sql(store: SqlStore, *, is_carried_out: bool) -> None:
    dialect = store._dialect.engine.dialect
    commit = dialect.do_commit

    def lossy(connection: Any) -> None:
        dialect.do_commit = commit  # type: ignore[method-assign]
        (commit if is_carried_out else dialect.do_rollback)(connection)
        raise dialect.loaded_dbapi.OperationalError("the connection is lost")

    dialect.do_commit = lossy  # type: ignore[method-assign]


def holding(amount: int, generation: Any) -> AllocationChange:
    return AllocationChange("c", {PROVIDER: {"VCPU": amount}}, "project", "user", generation)


WRITES: list[Callable[[Store], Any]] = [
    lambda store: store.change_provider(CreateProvider(OTHER, "q")),
    lambda store: store.change_provider(SetInventories(PROVIDER, {"VCPU": Inventory(9)}, 1)),
    lambda store: store.allocate([holding(1, None)]),
    lambda store: store.reshape([SetInventories(PROVIDER, {"VCPU": Inventory(9)}, 1)], [holding(1, None)]),
]


@pytest.mark.parametrize("write", WRITES)
def test_write_that_may_have_been_carried_out_is_not_refused(
    backend: tuple[Store, Lose], write: Callable[[Store], Any]
) -> None:
    store, lose = backend
    lose(is_carried_out=True)
    with pytest.raises(errors.StoreUnavailable, match="may have been carried out"):
        write(store)
    assert isinstance(write(store), Refusal), "it was carried out"


@pytest.mark.parametrize("write", WRITES)
def test_write_that_was_lost_on_its_way_is_carried_out(
    backend: tuple[Store, Lose], write: Callable[[Store], Any]
) -> None:
    store, lose = backend
    lose(is_carried_out=False)
    assert not isinstance(write(store), Refusal)
    assert isinstance(write(store), Refusal), "it was carried out"


def test_write_that_fits_again_is_carried_out(backend: tuple[Store, Lose]) -> None:
    store, lose = backend
    lose(is_carried_out=True)
    assert store.allocate([holding(1, ANY)]) is None


def test_refusal_that_was_answered_stands_after_a_lost_answer_to_another_write(backend: tuple[Store, Lose]) -> None:
    store, lose = backend
    lose(is_carried_out=True)
    store.allocate([holding(1, ANY)])
    refusal = store.allocate([holding(1, None)])
    assert refusal is not None and refusal.kind is RefusalKind.CONSUMER
