# SPDX-License-Identifier: Apache-2.0
"""The store suite's own fixtures, on servers that could fail over."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.functional.failover.setups import KINDS
from tests.unit.scheduler_svc.store.backends import following_world


@pytest.fixture(params=KINDS)
def make_world(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Make partitions of the test's own."""
    setup = request.getfixturevalue(f"redis_{request.param}")
    made = []

    def make(**options: Any) -> Any:
        made.append(following_world(setup, **options))
        return made[-1]

    yield make
    for world in made:
        world.store.close()


@pytest.fixture
def world(make_world: Any) -> Any:
    """A fresh partition."""
    return make_world()
