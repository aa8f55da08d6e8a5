# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the store suite on servers with failover."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.failover.setups import KINDS
from tests.unit.scheduler_svc.store.backends import following_world


@pytest.fixture(params=KINDS)
def make_world(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Create private partitions."""
    setup = request.getfixturevalue(f"redis_{request.param}")
    worlds = []

    def make(**options: Any) -> Any:
        worlds.append(following_world(setup, **options))
        return worlds[-1]

    yield make
    for world in worlds:
        world.store.close()


@pytest.fixture
def world(make_world: Any) -> Any:
    """A fresh partition."""
    return make_world()
