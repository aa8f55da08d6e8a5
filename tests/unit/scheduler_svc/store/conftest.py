# SPDX-License-Identifier: Apache-2.0
"""Every store test runs on every backend."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.failover.setups import KINDS
from tests.run_folders import claim_folder, release_folder
from tests.unit.scheduler_svc.store.backends import following_world, memory_world, redis_world
from tests.unit.scheduler_svc.store.databases import sql_world


@pytest.fixture(scope="session")
def sqlite_url() -> Iterator[str]:
    """A SQLite file for the whole run: each test has a partition of its own in it."""
    folder = claim_folder()
    yield f"sqlite:///{folder / 'store.sqlite'}"
    release_folder(folder)


FOLLOWING = [pytest.param(f"redis_{kind}", marks=pytest.mark.long) for kind in KINDS]


@pytest.fixture(params=["memory", "redis", "sqlite", "postgresql", *FOLLOWING])
def make_world(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Make partitions on the backend at hand; options bound the log and the decision record."""
    made = []

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
        made.append(world)
        return world

    yield make
    for world in made:
        world.store.close()


@pytest.fixture
def world(make_world: Any) -> Any:
    """A fresh partition."""
    return make_world()
