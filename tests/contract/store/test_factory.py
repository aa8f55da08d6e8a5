# SPDX-License-Identifier: Apache-2.0
"""Store URLs, partition names and external namespaces that are rejected."""

import pytest

from rpcapi import errors
from scheduler_svc.store.factory import attach_state_store, open_store
from scheduler_svc.store.memory import MemoryStore
from tests.support.private_servers.memcached import MemcachedServer


def test_unsupported_store_url_is_rejected() -> None:
    with pytest.raises(errors.BadConfiguration, match="mysql"):
        open_store("mysql://x", "p1")


@pytest.mark.parametrize("partition", ["", "a b", "a/b", "a|b"])
def test_invalid_partition_name_is_rejected(partition: str) -> None:
    with pytest.raises(errors.InvalidName):
        open_store("memory://", partition)


def test_invalid_redis_url_is_rejected() -> None:
    with pytest.raises(errors.BadConfiguration):
        open_store("redis://host:notaport/0", "cell1")


def test_undeclared_external_namespace_is_rejected(memcached_server: MemcachedServer) -> None:
    with pytest.raises(errors.BadConfiguration, match="state_namespaces: rak not declared"):
        attach_state_store(MemoryStore("p1", namespaces=["rack"]), memcached_server.url(), ["rak"])


def test_external_namespace_by_which_builds_are_counted_is_rejected(memcached_server: MemcachedServer) -> None:
    store = MemoryStore("p1", namespaces=["compute_node"])
    with pytest.raises(errors.BadConfiguration, match="compute_node must be in the store"):
        attach_state_store(store, memcached_server.url(), ["compute_node"])
