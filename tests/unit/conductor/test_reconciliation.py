# SPDX-License-Identifier: Apache-2.0
"""The periodic comparison of records with claims: its pages, its failures, and what it leaves alone."""

from dataclasses import replace
from typing import Any

import oslo_messaging as messaging

from conductor import reconciliation
from conductor.reconciliation import PAGE_PAUSE, RecordReconciler
from conductor.service_clients import ServiceClients
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import InstanceStatus, SagaStep, StoreTimeouts
from rpcapi import objects
from tests.unit.conductor.store.conftest import request


class FixedClaims:
    """A claims service of which every claim has the same answer; ``calls`` has the consumers of each call."""

    def __init__(self, answer: str, host: str | None = None) -> None:
        self.answer = answer
        self.host = host
        self.calls: list[list[str]] = []
        self.down = False

    def find_claims(self, ctxt: object, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        if self.down:
            raise messaging.MessagingTimeout("no answer")
        self.calls.append(list(refs.consumers))
        count = len(refs.consumers)
        return objects.ClaimAnswers.of(
            consumers=refs.consumers,
            attempts=refs.attempts,
            answers=[self.answer] * count,
            hosts=[self.host] * count,
            reasons=[""] * count,
            deadlines_ms=[None] * count,
        )


def store_with(statuses: dict[str, InstanceStatus], **values: Any) -> MemoryConductorStore:
    store = MemoryConductorStore(StoreTimeouts())
    store.record(request(), list(statuses))
    records = store.get(list(statuses))
    for uuid, status in statuses.items():
        step = SagaStep.WAIT if status == InstanceStatus.BUILDING else SagaStep.DONE
        changed = replace(records[uuid], status=status, step=step, host="h1/n", partition="cell", **values)
        store.write_without_lease([changed], wake=False)
    return store


def reconciler(store: MemoryConductorStore, claims: FixedClaims) -> RecordReconciler:
    clients = ServiceClients(None, None, lambda partition: claims, "cell")  # type: ignore[arg-type, return-value]
    return RecordReconciler(store, clients, lambda: None, 60.0)


def test_only_active_records_are_compared() -> None:
    store = store_with({"a": InstanceStatus.ACTIVE, "b": InstanceStatus.BUILDING, "c": InstanceStatus.ERROR})
    claims = FixedClaims("fenced")
    assert 48 <= reconciler(store, claims).run_once() <= 72
    assert claims.calls == [["a"]]
    assert [store.get([uuid])[uuid].status for uuid in "abc"] == ["ERROR", "BUILDING", "ERROR"]


def test_all_pages_are_compared_one_at_a_time(monkeypatch: Any) -> None:
    monkeypatch.setattr(reconciliation, "PAGE", 2)
    uuids = [f"u{number}" for number in range(5)]
    store, claims = store_with(dict.fromkeys(uuids, InstanceStatus.ACTIVE)), FixedClaims("confirmed", "h1/n")
    comparison, before = reconciler(store, claims), store.get(uuids)
    assert [comparison.run_once() == PAGE_PAUSE for _ in range(3)] == [True, True, False]
    assert [uuid for call in claims.calls for uuid in call] == uuids
    assert store.get(uuids) == before


def test_claim_that_ended_and_is_live_again_changes_nothing() -> None:
    store, claims = store_with({"a": InstanceStatus.ACTIVE}), FixedClaims("released")
    comparison = reconciler(store, claims)
    comparison.run_once()
    claims.answer, claims.host = "confirmed", "h1/n"
    comparison.run_once()
    claims.answer, claims.host = "released", None
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ACTIVE"
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ERROR"


def test_partition_without_an_answer_is_compared_next_time() -> None:
    store, claims = store_with({"a": InstanceStatus.ACTIVE}), FixedClaims("fenced")
    comparison = reconciler(store, claims)
    claims.down = True
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ACTIVE"
    claims.down = False
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ERROR"
