# SPDX-License-Identifier: Apache-2.0
"""Every store test runs on every backend."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.unit.scheduler_svc.store.backends import memory_world, redis_world


@pytest.fixture(params=["memory", "redis"])
def make_world(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Make partitions on the backend at hand; options bound the log and the decision record."""
    made = []

    def make(**options: Any) -> Any:
        if request.param == "memory":
            world = memory_world(**options)
        else:
            world = redis_world(request.getfixturevalue("redis_server"), **options)
        made.append(world)
        return world

    yield make
    for world in made:
        world.store.close()


@pytest.fixture
def world(make_world: Any) -> Any:
    """A fresh partition."""
    return make_world()
