# SPDX-License-Identifier: Apache-2.0
"""Fixtures that run every store test on every backend."""

import uuid
from collections.abc import Iterator

import pytest

from devstack.servers.errors import BinaryMissing
from scheduler_svc.store.factory import attach_state_store
from scheduler_svc.store.memory import MemoryStore
from tests.support.private_servers.memcached import MemcachedServer
from tests.support.run_folders import claim_folder, release_folder
from tests.support.servers import missing
from tests.support.store.fixtures import make_partition, partition, sqlite_url

__all__ = ["make_partition", "partition", "sqlite_url"]  # fixtures


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
    attach_state_store(store, memcached_server.url(), ["rack"])
    yield store
    store.close()
