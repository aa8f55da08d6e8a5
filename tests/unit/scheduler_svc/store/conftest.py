# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run every store test on every backend."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from devstack.servers.errors import BinaryMissing
from devstack.servers.memcached import MemcachedServer
from scheduler_svc.store.factory import attach_state_store
from scheduler_svc.store.memory import MemoryStore
from tests.conftest import missing
from tests.functional.failover.setups import KINDS
from tests.run_folders import claim_folder, release_folder
from tests.unit.scheduler_svc.store.backends import failover_partition, memory_partition, redis_partition
from tests.unit.scheduler_svc.store.databases import sql_partition


@pytest.fixture(scope="session")
def sqlite_url() -> Iterator[str]:
    """The URL of a SQLite file for the whole run; each test uses a new partition in it."""
    folder = claim_folder()
    yield f"sqlite:///{folder / 'store.sqlite'}"
    release_folder(folder)


FOLLOWING = [pytest.param(f"redis_{kind}", marks=pytest.mark.long) for kind in KINDS]

# PostgreSQL and SQLite run the same code but for locks, time-outs and upserts, so by default these files, in which each
# verb occurs, run on PostgreSQL too, and the others only in the long form.
ON_POSTGRESQL = {
    *("test_aggregates.py", "test_log.py", "test_namespaces.py"),
    *("test_audit.py", "test_collecting.py", "test_decisions.py", "test_ending.py", "test_fencing_steps.py"),
    *(
        "test_liveness.py",
        "test_pinning.py",
        "test_providing.py",
        "test_reports_beside_api.py",
        "test_retiring.py",
        "test_allocating.py",
        "test_allocating_agents.py",
        "test_importing.py",
        "test_prepare.py",
        "test_prepare_groups.py",
        "test_prepare_large.py",
    ),
    *("test_registration.py", "test_removal.py", "test_sizes.py", "test_states.py", "test_store.py"),
}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark tests on PostgreSQL as long outside those files."""
    parameters = item.callspec.params if hasattr(item, "callspec") else {}
    if parameters.get("make_partition") == "postgresql" and item.path.name not in ON_POSTGRESQL:
        item.add_marker(pytest.mark.long)


@pytest.fixture(params=["memory", "redis", "sqlite", "postgresql", *FOLLOWING])
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


@pytest.fixture(scope="session")
def memcached_server() -> Iterator[MemcachedServer]:
    """A memcached for the whole run; each test uses a new partition."""
    memcached = MemcachedServer(claim_folder())
    try:
        memcached.start()
    except BinaryMissing as why:
        missing(why)
    yield memcached
    memcached.stop()
    release_folder(memcached.folder)


@pytest.fixture
def composite_store(memcached_server: MemcachedServer) -> Iterator[MemoryStore]:
    """A store with namespace ``rack`` in memcached, and ``power`` not."""
    store = MemoryStore(uuid.uuid4().hex[:8], namespaces=["rack", "power"])
    attach_state_store(store, memcached_server.url(), ["rack"], ["rack", "power"])
    yield store
    store.close()
