# SPDX-License-Identifier: Apache-2.0
"""The Redis backend: what it passes to its scripts; the shared suite tests its verbs."""

from typing import Any

import pytest

from scheduler_svc.core.records import BatchAnswer, Candidate, ClaimBatch, Intent
from scheduler_svc.store.records import COLLECT_MS, StoreOptions
from scheduler_svc.store.redis import store as redis_store
from scheduler_svc.store.redis.store import MAX_REAP, RedisStore

ONE_SERVER = "redis://127.0.0.1:1/0"


class RecordingIdentity:
    def __init__(self) -> None:
        self.positions: list[tuple[int, int]] = []

    def observe(self, epoch: int, position: int) -> None:
        self.positions.append((epoch, position))


class RecordingConnection:
    """Records scripts and their arguments, and returns prepared answers."""

    def __init__(self, url: str, partition: str, repeats: Any, options: StoreOptions) -> None:
        self.partition = partition
        self.options = options
        self.identity = RecordingIdentity()
        self.scripts: list[tuple[str, dict[str, Any]]] = []
        self.answers: list[Any] = []

    def run(self, script: str, *rows: Any, **arguments: Any) -> Any:
        self.scripts.append((script, arguments))
        return self.answers.pop(0)


@pytest.fixture(autouse=True)
def record(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_store, "RedisConnection", RecordingConnection)


@pytest.mark.parametrize(
    ("url", "durability", "effective"),
    [
        (ONE_SERVER, "always", "always"),
        (ONE_SERVER, "everysec", "everysec"),
        ("redis+sentinel://h1:26379,h2:26379/service/0", "always", "everysec"),
        ("redis+cluster://h1:6379,h2:6379", "always", "everysec"),
    ],
)
def test_durability_of_one_server_guarantees_nothing_where_another_may_take_over(
    url: str, durability: Any, effective: str
) -> None:
    connection: Any = RedisStore(url, "p1", durability=durability, log_length=7000)._connection
    assert (connection.options["durability"], connection.options["log_length"]) == (effective, 7000)


def test_prepare_is_repeated_while_its_script_only_ends_expired_claims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = RedisStore(ONE_SERVER, "p1", decision_bytes=50)
    connection: Any = store._connection
    connection.answers = [[], [], ["raw"]]
    answer = BatchAnswer(True, True, 3, 42, [])
    monkeypatch.setattr(redis_store.prepare, "answer", lambda batch, raw: answer if raw == ["raw"] else None)
    batch = ClaimBatch("r", "p", "u", {"VCPU": 1}, [Intent("c1", 1, [Candidate("h1")])], 3, 40, 1000)
    assert store.prepare(batch) is answer
    assert [script for script, _arguments in connection.scripts] == ["prepare"] * 3
    assert {arguments["decision_bytes"] for _script, arguments in connection.scripts} == {50}
    assert connection.identity.positions == [(3, 42)]


@pytest.mark.parametrize(
    ("dead_after_ms", "silence", "limit", "sent"), [(60_000, 60_000, 500, 500), (None, "", MAX_REAP + 1, MAX_REAP)]
)
def test_reap_is_bounded_and_leaves_liveness_to_a_service_group(
    dead_after_ms: int | None, silence: Any, limit: int, sent: int
) -> None:
    store = RedisStore(ONE_SERVER, "p1")
    connection: Any = store._connection
    connection.answers = [[4, 1, 70]]
    assert store.reap(dead_after_ms=dead_after_ms, tombstone_ms=9, limit=limit) == (4, True, 70)
    assert connection.scripts == [
        ("reap", {"silence_ms": silence, "collect_ms": COLLECT_MS, "tombstone_ms": 9, "limit": sent})
    ]
