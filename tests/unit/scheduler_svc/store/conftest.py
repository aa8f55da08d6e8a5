# SPDX-License-Identifier: Apache-2.0
"""Every store test runs on every backend."""

from collections.abc import Iterator
from typing import Any

import pytest

from scheduler_svc.store.memory import MemoryStore
from tests.unit.scheduler_svc.store.world import ManualClock, World

BACKENDS = ("memory",)


def memory_world(**options: Any) -> World:
    """Return a partition in memory, with a clock of the test's own."""
    clock = ManualClock()
    store = MemoryStore("p1", clock=clock, **options)

    def wait_until(moment: int) -> None:
        clock.now = max(clock.now, moment)

    return World(store, clock, wait_until, store.bump)


@pytest.fixture(params=BACKENDS)
def make_world(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Make partitions on the backend at hand; options bound the log and the decision record."""
    yield memory_world


@pytest.fixture
def world(make_world: Any) -> World:
    """A fresh partition."""
    return make_world()
