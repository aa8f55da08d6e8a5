# SPDX-License-Identifier: Apache-2.0
"""Regression: data that commit 54c14e9 stored is read unchanged, whatever has been renamed or moved since.

`stored_by_54c14e9` holds the contents of the Redis store, the journal and the guests of an embedded cluster that ran
that commit, and a SQLite store that its verbs filled.
"""

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from compute_agent.attempts.journal import Journal
from compute_agent.attempts.journal_file import JournalFile
from compute_agent.simulator.hypervisor import Hypervisor
from compute_agent.simulator.profile import HostProfile
from conductor.store.redis import RedisConductorStore
from devstack.servers.redis import RedisServer
from scheduler_svc.store.factory import open_store
from scheduler_svc.store.redis import RedisStore

STORED = Path(__file__).parent / "stored_by_54c14e9"
NODE = "compute1/node1"


def restore(client: redis.Redis, keys: dict[str, dict[str, Any]]) -> None:
    for key, stored in keys.items():
        value = stored["value"]
        match stored["type"]:
            case "hash":
                client.hset(key, mapping=value)
            case "zset":
                client.zadd(key, dict(value))
            case "stream":
                for entry_id, fields in value:
                    client.xadd(key, fields, id=entry_id)
            case other:
                raise AssertionError(f"{key} is a {other}")


@pytest.fixture
def redis_url(make_redis: Callable[..., RedisServer]) -> str:
    server = make_redis()
    restore(server.client(), json.loads((STORED / "redis.json").read_text()))
    return server.url()


@pytest.fixture
def store(redis_url: str) -> Iterator[RedisStore]:
    store = RedisStore(redis_url, "default", namespaces=("aggregate",))
    yield store
    store.close()


def test_claims_providers_and_sums_are_read_from_redis(store: RedisStore) -> None:
    claims, _ = store.claims()
    assert Counter((claim.state, claim.host) for claim in claims) == {("confirmed", NODE): 7}
    verification = store.verify()
    assert (verification.claims, verification.providers) == ({"prepared": 0, "confirmed": 7}, 4)
    assert (list(verification.problems), list(verification.excess)) == ([], [])


def test_services_aggregates_and_groups_are_read_from_redis(store: RedisStore) -> None:
    snapshot = store.snapshot()
    services = snapshot.services
    assert (services["compute0"]["enabled"], services["compute0"]["disabled_reason"]) == (False, "new fan")
    assert services["compute1"]["enabled"] is True
    _, aggregate = store.get_state("aggregate", "gold")
    assert (aggregate["hosts"], aggregate["metadata"]) == (["compute0"], {"ssd": "true"})
    assert store.group_hosts("g1") == {NODE: 2}


def test_log_and_decisions_are_read_from_redis(store: RedisStore) -> None:
    entries = store.follow(0, 1000)
    assert [entry.position for entry in entries] == [*range(1, 22), entries[-1].position]
    assert entries[-1].position > 1 << 20  # the last one is the new epoch's: the restored server is another one
    decisions, _ = store.list_decisions()
    assert Counter(decision["outcome"] for _, decision in decisions) == {"selected": 3, "refused": 1}


def test_records_of_the_conductor_are_read_from_redis(redis_url: str) -> None:
    store = RedisConductorStore(redis_url)
    try:
        page = store.page(None, 1000, deleted=True)
        records = {record.uuid: record for record in page.instances}
        assert Counter(record.status for record in records.values()) == {"ACTIVE": 7, "ERROR": 40, "DELETED": 1}
        active = next(record for record in records.values() if record.status == "ACTIVE")
        assert (active.host, active.attempt) == (NODE, 1)
        request = store.requests([active.request])[active.request]
        assert (request.project, request.user) == ("default", "root")
    finally:
        store.close()


def test_claims_and_sums_are_read_from_sqlite(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with sqlite3.connect(path) as connection:
        connection.executescript((STORED / "store.sql").read_text())
    store = open_store(f"sqlite:///{path}", "default")
    try:
        claims, _ = store.claims()
        assert {(claim.consumer, claim.host) for claim in claims} >= {("c-confirmed", "h1")}
        assert list(store.verify().problems) == []
        assert store.snapshot().used["h1"] == {"VCPU": 2, "MEMORY_MB": 512}
    finally:
        store.close()


def test_journal_and_guests_of_an_agent_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "compute1"
    shutil.copytree(STORED / "compute1", folder)
    journal = Journal(JournalFile(folder / "journal", "compute1"), retention_ms=10**15)
    journal.open()
    try:
        assert len(journal.live()) == 7
        hypervisor = Hypervisor(folder / "guests", HostProfile)
        hypervisor.open()
        assert {guest.ref for guest in hypervisor.list()} == {attempt.ref for attempt in journal.live()}
    finally:
        journal.close()
