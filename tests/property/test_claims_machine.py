# SPDX-License-Identifier: Apache-2.0
"""The store's invariants under random interleavings of all verbs, on the memory store and beside other stores."""

from collections.abc import Callable
from pathlib import Path

import pytest

from devstack.servers.redis import RedisServer
from tests.support.private_servers.postgresql import PostgresqlServer
from tests.support.simulation.claims_machine import ClaimsMachine
from tests.support.simulation.machines import bind, run_machine
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import StorePartition


def explore(make_partitions: Callable[[], list[StorePartition]], examples: int, steps: int) -> None:
    """Run the machine on partitions that must answer alike."""
    run_machine(bind(ClaimsMachine, make_partitions=staticmethod(make_partitions)), examples, steps)


@pytest.mark.timeout(900)
def test_memory() -> None:
    explore(lambda: [memory_partition()], 100, 50)


@pytest.mark.timeout(900)
def test_redis_answers_like_memory(redis_server: RedisServer) -> None:
    explore(lambda: [memory_partition(), redis_partition(redis_server)], 25, 40)


@pytest.mark.timeout(900)
def test_sqlite_answers_like_memory(run_folder: Path) -> None:
    url = f"sqlite:///{run_folder / 'store.sqlite'}"
    explore(lambda: [memory_partition(), sql_partition(url)], 10, 40)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_memory_at_length() -> None:
    explore(lambda: [memory_partition()], 3000, 80)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_redis_answers_like_memory_at_length(redis_server: RedisServer) -> None:
    explore(lambda: [memory_partition(), redis_partition(redis_server)], 500, 60)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_sqlite_answers_like_memory_at_length(run_folder: Path) -> None:
    url = f"sqlite:///{run_folder / 'store.sqlite'}"
    explore(lambda: [memory_partition(), sql_partition(url)], 150, 60)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_postgresql_answers_like_memory_at_length(postgresql_server: PostgresqlServer) -> None:
    explore(lambda: [memory_partition(), sql_partition(postgresql_server.url())], 150, 60)
