# SPDX-License-Identifier: Apache-2.0
"""Fixtures of partitions on each back end."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.clusters.setups import KINDS
from tests.support.run_folders import claim_folder, release_folder
from tests.support.store.backends import failover_partition, memory_partition, redis_partition
from tests.support.store.databases import sql_partition


@pytest.fixture(scope="session")
def sqlite_url() -> Iterator[str]:
    """The URL of a SQLite file for the whole run; each test uses a new partition in it."""
    folder = claim_folder()
    yield f"sqlite:///{folder / 'store.sqlite'}"
    release_folder(folder)


FOLLOWING = [pytest.param(f"redis_{kind}", marks=pytest.mark.long) for kind in KINDS]
# The databases run the same code but for locks, time-outs and upserts.
DATABASES = [pytest.param(name, marks=pytest.mark.sampled) for name in ("sqlite", "postgresql")]


@pytest.fixture(params=["memory", "redis", *DATABASES, *FOLLOWING])
def make_partition(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Return a function that creates partitions on the backend under test."""
    partitions = []

    def make(**options: Any) -> Any:
        if request.param == "memory":
            partition = memory_partition(**options)
        elif request.param == "redis":
            partition = redis_partition(request.getfixturevalue("redis_server"), **options)
        elif request.param in ("redis_sentinel", "redis_cluster"):
            partition = failover_partition(request.getfixturevalue(request.param), **options)
        elif request.param == "sqlite":
            partition = sql_partition(request.getfixturevalue("sqlite_url"), **options)
        else:
            partition = sql_partition(request.getfixturevalue("postgresql_server").url(), **options)
        partitions.append(partition)
        return partition

    yield make
    for partition in partitions:
        partition.store.close()


@pytest.fixture
def partition(make_partition: Any) -> Any:
    """A new partition on the backend under test."""
    return make_partition()
