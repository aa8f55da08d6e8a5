# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the store suite on servers with failover."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters.setups import KINDS
from tests.support.store.backends import failover_partition


@pytest.fixture(params=[pytest.param(kind, marks=pytest.mark.sampled) for kind in KINDS])
def make_partition(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Create private partitions."""
    setup = request.getfixturevalue(f"redis_{request.param}")
    partitions = []

    def make(**options: Any) -> Any:
        partitions.append(failover_partition(setup, **options))
        return partitions[-1]

    yield make
    for partition in partitions:
        partition.store.close()


@pytest.fixture
def partition(make_partition: Any) -> Any:
    """A fresh partition."""
    return make_partition()
