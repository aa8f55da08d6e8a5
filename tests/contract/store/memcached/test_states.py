# SPDX-License-Identifier: Apache-2.0
"""Documents in memcached: versions, pages, concurrent writers, size."""

import threading
import uuid

import pytest

from rpcapi import errors
from scheduler_svc.store.memcached import MemcachedStates
from scheduler_svc.store.memory import MemoryStore
from tests.support.private_servers.memcached import MemcachedServer


def test_document_update_requires_the_read_version(composite_store: MemoryStore) -> None:
    first = composite_store.put_state("rack", "h1", 0, {"power": 1})
    assert composite_store.get_state("rack", "h1") == (first, {"power": 1})
    # A repeated update changes nothing.
    assert composite_store.put_state("rack", "h1", 0, {"power": 1}) == first
    second = composite_store.put_state("rack", "h1", first, {"power": 2})
    assert second > first
    for version in (0, first):
        with pytest.raises(errors.VersionConflict):
            composite_store.put_state("rack", "h1", version, {"power": 3})
        with pytest.raises(errors.VersionConflict):
            composite_store.delete_state("rack", "h1", version)
    composite_store.delete_state("rack", "h1", second)
    composite_store.delete_state("rack", "h1", second)
    with pytest.raises(errors.UnknownHost):
        composite_store.get_state("rack", "h1")
    assert composite_store.put_state("rack", "h1", 0, {"power": 1}) > second


def test_memcached_documents_are_listed_in_pages(composite_store: MemoryStore) -> None:
    names = [f"h{number:03}" for number in range(150)]
    for name in names:
        composite_store.put_state("rack", name, 0, {"of": name})
    first, marker = composite_store.list_state("rack", None, 100)
    second, end = composite_store.list_state("rack", marker, 100)
    assert [name for name, _version, document in [*first, *second] if document == {"of": name}] == names
    assert end is None


def test_concurrent_writers_lose_no_change(memcached_server: MemcachedServer) -> None:
    partition = uuid.uuid4().hex[:8]
    done = []

    def count(number: int) -> None:
        states = MemcachedStates(memcached_server.url(), partition)
        for turn in range(20):
            while True:
                try:
                    version, document = states.get("rack", "sum")
                except errors.UnknownHost:
                    version, document = 0, {"n": 0, "by": ""}
                try:
                    states.put("rack", "sum", version, {"n": document["n"] + 1, "by": f"{number}.{turn}"})
                except errors.VersionConflict:
                    continue
                break
        states.close()
        done.append(number)

    threads = [threading.Thread(target=count, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(done) == [0, 1, 2, 3]
    assert MemcachedStates(memcached_server.url(), partition).get("rack", "sum")[1]["n"] == 80


def test_document_above_the_item_size_is_rejected(composite_store: MemoryStore) -> None:
    with pytest.raises(errors.InvalidRequest):
        composite_store.put_state("rack", "h1", 0, {"text": "x" * 70_000})
