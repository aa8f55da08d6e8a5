# SPDX-License-Identifier: Apache-2.0
"""The same store suite on memory and on Redis."""

from collections.abc import Iterator

import pytest

from conductor.store import keys
from tests.support.clusters.setups import KINDS
from tests.support.conductor.bench import LEASE_MS, StoreWithClock, memory_bench, redis_bench

FOLLOWING = [pytest.param(f"redis_{kind}", marks=pytest.mark.long) for kind in KINDS]


@pytest.fixture
def lease_ms() -> int:
    """Length of leases; tests that do not wait for the end of one replace it by a long time."""
    return LEASE_MS


@pytest.fixture(params=["memory", "redis", *FOLLOWING])
def bench(request: pytest.FixtureRequest, lease_ms: int) -> Iterator[StoreWithClock]:
    if request.param == "redis":
        server = request.getfixturevalue("redis_server")
        yield from redis_bench(server, server.url(), lease_ms)
        return
    if request.param != "memory":
        setup = request.getfixturevalue(request.param)
        yield from redis_bench(setup.primary(keys.PREFIX), setup.url(None), lease_ms)
        return
    yield memory_bench(lease_ms)
