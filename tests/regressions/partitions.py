# SPDX-License-Identifier: Apache-2.0
"""The partitions of regression tests that run on several backends."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import StorePartition

BACKENDS = ("memory", "redis", "sqlite")


def open_partition(request: pytest.FixtureRequest, folder: Path, **options: Any) -> StorePartition:
    """Return a partition without hosts on the backend that the fixture's parameter names, one of BACKENDS.

    ``options`` are those of the stores.
    """
    if request.param == "memory":
        return memory_partition(**options)
    if request.param == "redis":
        return redis_partition(request.getfixturevalue("redis_server"), **options)
    return sql_partition(f"sqlite:///{folder / 'store.sqlite'}", **options)
