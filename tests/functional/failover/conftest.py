# SPDX-License-Identifier: Apache-2.0
"""The store suites' own fixtures, on servers that could fail over."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from conductor.store import keys
from scheduler_svc.store.redis.keys import prefix
from tests.functional.failover.setups import KINDS, SetUp, running
from tests.unit.conductor.store.conftest import Bench, redis_bench
from tests.unit.scheduler_svc.store.backends import redis_world


@pytest.fixture(scope="module", params=KINDS)
def steady(request: pytest.FixtureRequest) -> Iterator[SetUp]:
    """Servers that no test of the module harms, without users."""
    with running(request.param, users=False) as setup:
        yield setup


@pytest.fixture
def make_world(steady: SetUp) -> Iterator[Any]:
    """Make partitions; in a cluster they lie on all of its primaries."""
    made = []

    def make(**options: Any) -> Any:
        partition = uuid.uuid4().hex[:12]
        server = steady.primary(prefix(partition))
        made.append(redis_world(server, url=steady.url(None), partition=partition, **options))
        return made[-1]

    yield make
    for world in made:
        world.store.close()


@pytest.fixture
def world(make_world: Any) -> Any:
    """A fresh partition."""
    return make_world()


@pytest.fixture
def bench(steady: SetUp) -> Iterator[Bench]:
    """The conductor's records."""
    yield from redis_bench(steady.primary(keys.PREFIX), steady.url(None))
