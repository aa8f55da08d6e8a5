# SPDX-License-Identifier: Apache-2.0
"""A fence while an audit runs: a guest that the audit answers as confirmed has a claim, or its host must audit again.

In Redis an audit reads, and writes later; a fence between them must not be lost.
"""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.records import AuditOutcome
from scheduler_svc.store.verbs import audit as audit_verb
from tests.support.store.backends import memory_partition, redis_partition
from tests.support.store.databases import sql_partition
from tests.support.store.store_partition import LONG_MS, StorePartition, running

REFS = [ClaimRef(f"c{number}", 1) for number in range(3)]


@pytest.fixture
def redis_store_partition(redis_server: RedisServer) -> Iterator[StorePartition]:
    partition = redis_partition(redis_server)
    yield partition
    partition.store.close()


@pytest.fixture(params=["memory", "sqlite"])
def transactional_partition(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[StorePartition]:
    partition = memory_partition() if request.param == "memory" else sql_partition(f"sqlite:///{tmp_path}/store.sqlite")
    yield partition
    partition.store.close()


def run_audit(partition: StorePartition) -> AuditOutcome:
    claims = [running(ref, "h1") for ref in REFS]
    return partition.store.audit("h1", partition.store.snapshot().epoch, claims, LONG_MS)


def hold_claims(partition: StorePartition) -> None:
    partition.add_host("h1")
    for ref in REFS:
        partition.hold(ref.consumer, "h1")


def test_fence_before_the_commit_of_an_audit_is_in_its_answer(
    redis_store_partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = redis_store_partition
    hold_claims(partition)
    connection = partition.store._connection  # type: ignore[attr-defined]
    run = connection.run

    def run_interrupted(name: str, *args: Any, **named: Any) -> Any:
        if name == "commit":
            monkeypatch.setattr(connection, "run", run)
            partition.fence("h1")
        return run(name, *args, **named)

    # When an operator fences the host between the reads of an audit and its commit
    monkeypatch.setattr(connection, "run", run_interrupted)
    outcome = run_audit(partition)
    # Then the agent is answered that the claims have ended, and their capacity is free
    assert [result.answer for result in outcome.answers] == [Answer.FENCED] * len(REFS)
    assert partition.states() == {} and partition.used("h1") == {}
    partition.check()


def test_fence_during_an_audit_waits_for_it(
    transactional_partition: StorePartition, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = transactional_partition
    hold_claims(partition)
    fence = threading.Thread(target=lambda: partition.fence("h1"))
    end_unreported = audit_verb._end_unreported

    def end_unreported_during_a_fence(*args: Any) -> Any:
        fence.start()
        return end_unreported(*args)

    # When an operator fences the host between the two halves of an audit
    monkeypatch.setattr(audit_verb, "_end_unreported", end_unreported_during_a_fence)
    outcome = run_audit(partition)
    fence.join()
    monkeypatch.undo()
    # Then the fence came after the audit: the host is closed, and its next audit is answered that the claims ended
    assert [result.answer for result in outcome.answers] == [Answer.CONFIRMED] * len(REFS)
    assert partition.states() == {} and partition.store.snapshot().opened.get("h1", 1) == 0
    assert [result.answer for result in run_audit(partition).answers] == [Answer.FENCED] * len(REFS)
    partition.check()
