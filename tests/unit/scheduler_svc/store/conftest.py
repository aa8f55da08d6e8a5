# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run every store test on every backend."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.failover.setups import KINDS
from tests.run_folders import claim_folder, release_folder
from tests.unit.scheduler_svc.store.backends import following_world, memory_world, redis_world
from tests.unit.scheduler_svc.store.databases import sql_world


@pytest.fixture(scope="session")
def sqlite_url() -> Iterator[str]:
    """The URL of a SQLite file for the whole run; each test uses a new partition in it."""
    folder = claim_folder()
    yield f"sqlite:///{folder / 'store.sqlite'}"
    release_folder(folder)


FOLLOWING = [pytest.param(f"redis_{kind}", marks=pytest.mark.long) for kind in KINDS]


@pytest.fixture(params=["memory", "redis", "sqlite", "postgresql", *FOLLOWING])
def make_world(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a function that creates partitions on the backend under test."""
    worlds = []

    def make(**options: Any) -> Any:
        if request.param == "memory":
            world = memory_world(**options)
        elif request.param == "redis":
            world = redis_world(request.getfixturevalue("redis_server"), **options)
        elif request.param in ("redis_sentinel", "redis_cluster"):
            world = following_world(request.getfixturevalue(request.param), **options)
        elif request.param == "sqlite":
            world = sql_world(request.getfixturevalue("sqlite_url"), **options)
        else:
            world = sql_world(request.getfixturevalue("postgresql_server").url(), **options)
        worlds.append(world)
        return world

    yield make
    for world in worlds:
        world.store.close()


@pytest.fixture
def world(make_world: Any) -> Any:
    """A new partition on the backend under test."""
    return make_world()
