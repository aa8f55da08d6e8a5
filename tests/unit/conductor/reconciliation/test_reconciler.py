# SPDX-License-Identifier: Apache-2.0
"""The periodic comparison of records with claims: its pages, its failures, and what it leaves alone."""

from dataclasses import replace
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.collaborators import ServiceClients
from conductor.reconciliation import reconciler
from conductor.reconciliation.reconciler import PAGE_PAUSE, RecordReconciler
from conductor.requests.deletion import delete
from conductor.store.memory import MemoryConductorStore
from conductor.store.records import SagaStep, StoreTimeouts
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import ClaimRole
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.bench import request
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.fakes import partition_list
from tests.support.conductor.simulated_cluster import uuid_list


class FakeClaims:
    """A claims service of which every claim has the same answer; ``calls`` has the consumers of each call."""

    def __init__(self, answer: str, host: str | None = None, migration: str | None = None) -> None:
        self.answer = answer
        self.host = host
        self.migration = migration
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

    def list_claims(self, ctxt: object, consumer: str) -> objects.ClaimPage:
        role = ClaimRole.ONLY if self.migration is None else ClaimRole.DESTINATION
        return objects.ClaimPage.of(claims=[{"consumer": consumer, "role": role, "migration": self.migration}])


def store_with(statuses: dict[str, InstanceStatus], **values: Any) -> MemoryConductorStore:
    store = MemoryConductorStore(StoreTimeouts())
    store.record(request(), list(statuses))
    records = store.get(list(statuses))
    for uuid, status in statuses.items():
        step = SagaStep.WAIT if status == InstanceStatus.BUILDING else SagaStep.DONE
        changed = replace(records[uuid], status=status, step=step, host="h1/n", partition="cell", **values)
        store.write_without_lease([changed], wake=False)
    return store


class OnePartition:
    """A scheduler of a single partition."""

    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        return partition_list(["cell"])


def make_reconciler(store: MemoryConductorStore, claims: FakeClaims) -> RecordReconciler:
    scheduler = OnePartition()
    clients = ServiceClients(scheduler, None, lambda partition: claims, "cell")  # type: ignore[arg-type, return-value]
    return RecordReconciler(make_conductor(store, clients), 60.0)


@pytest.mark.parametrize(("epoch", "compared"), [(1, ["a", "c"]), (2, ["a"])], ids=["uncertain", "certain"])
def test_active_records_are_compared_and_uncertain_ones_in_error(
    monkeypatch: pytest.MonkeyPatch, epoch: int, compared: list[str]
) -> None:
    statuses = {"a": InstanceStatus.ACTIVE, "b": InstanceStatus.BUILDING, "c": InstanceStatus.ERROR}
    store = store_with(statuses, certain_epoch=epoch)
    monkeypatch.setattr(store, "epoch", lambda: 2)
    claims = FakeClaims("fenced")
    assert 48 <= make_reconciler(store, claims).run_once() <= 72
    assert claims.calls == [compared]
    assert [store.get([uuid])[uuid].status for uuid in "abc"] == ["ERROR", "BUILDING", "ERROR"]


def test_all_pages_are_compared_one_at_a_time(monkeypatch: Any) -> None:
    monkeypatch.setattr(reconciler, "PAGE", 2)
    uuids = [f"u{number}" for number in range(5)]
    store, claims = store_with(dict.fromkeys(uuids, InstanceStatus.ACTIVE)), FakeClaims("confirmed", "h1/n")
    comparison, before = make_reconciler(store, claims), store.get(uuids)
    assert [comparison.run_once() == PAGE_PAUSE for _ in range(3)] == [True, True, False]
    assert [uuid for call in claims.calls for uuid in call] == uuids
    assert store.get(uuids) == before


def test_claim_that_ended_and_is_live_again_changes_nothing() -> None:
    store, claims = store_with({"a": InstanceStatus.ACTIVE}), FakeClaims("released")
    comparison = make_reconciler(store, claims)
    comparison.run_once()
    claims.answer, claims.host = "confirmed", "h1/n"
    comparison.run_once()
    claims.answer, claims.host = "released", None
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ACTIVE"
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ERROR"


def test_partition_without_an_answer_is_compared_next_time() -> None:
    store, claims = store_with({"a": InstanceStatus.ACTIVE}), FakeClaims("fenced")
    comparison = make_reconciler(store, claims)
    claims.down = True
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ACTIVE"
    claims.down = False
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ERROR"


def test_active_record_without_a_claim_goes_to_error_and_can_be_deleted() -> None:
    # Given a record whose claim the store does not have, while no host is awaited that may report it
    store, claims = store_with({"a": InstanceStatus.ACTIVE}), FakeClaims("unknown")
    comparison = make_reconciler(store, claims)
    # When records are compared once, then a report may be on its way
    comparison.run_once()
    assert store.get(["a"])["a"].status == "ACTIVE"
    # When they are compared again
    comparison.run_once()
    # Then the record says why, and a delete ends what may be left of the attempt
    record = store.get(["a"])["a"]
    assert record.status == "ERROR" and record.has_ended(record.attempt)
    assert record.reason is not None and record.reason.startswith("host h1 has no claim of it")
    deleted = delete(record)
    assert deleted is not None
    assert deleted.step == SagaStep.ABORT


def test_record_without_a_claim_stays_while_a_host_is_awaited() -> None:
    store, claims = store_with({"a": InstanceStatus.ACTIVE}), FakeClaims("unknown")
    comparison = make_reconciler(store, claims)
    comparison.run_once()
    claims.answer = "closed"
    for _ in range(3):
        comparison.run_once()
    assert store.get(["a"])["a"].status == "ACTIVE"


# -- comparison on request ---------------------------------------------------------------------------------------------

A, B, C = uuid_list(3)


@pytest.mark.parametrize("answer", ["released", "fenced", "unknown"])
def test_requested_comparison_ends_a_record_without_a_claim_at_once(answer: str) -> None:
    store = store_with({A: InstanceStatus.ACTIVE, B: InstanceStatus.ACTIVE})
    make_reconciler(store, FakeClaims(answer)).compare([A])
    assert [store.get([uuid])[uuid].status for uuid in (A, B)] == ["ERROR", "ACTIVE"]
    assert "host h1" in (store.get([A])[A].reason or "")


@pytest.mark.parametrize("answer", ["closed", "unverified", "prepared"])
def test_undecided_claim_changes_no_record(answer: str) -> None:
    store = store_with({A: InstanceStatus.ACTIVE, B: InstanceStatus.ERROR})
    before = store.get([A, B])
    make_reconciler(store, FakeClaims(answer)).compare([A, B])
    assert store.get([A, B]) == before


def test_record_in_error_with_a_live_claim_has_its_build_sent_again() -> None:
    ended = {"attempt": 1, "host": "h1/n", "outcome": "lost", "reason": "no claim"}
    store = store_with({A: InstanceStatus.ERROR}, history=[ended], reason="lost")
    make_reconciler(store, FakeClaims("confirmed", "h1/n")).compare([A])
    record = store.get([A])[A]
    assert (record.status, record.step, record.host, record.reason) == ("BUILDING", "cast", "h1/n", None)
    assert list(record.history) == []


def test_record_whose_host_reported_the_end_stays_in_error() -> None:
    ended = {"attempt": 1, "host": "h1/n", "outcome": "failed", "reason": "no disk"}
    store = store_with({A: InstanceStatus.ERROR}, history=[ended])
    before = store.get([A])
    make_reconciler(store, FakeClaims("confirmed", "h1/n")).compare([A])
    assert store.get([A]) == before


def test_requested_comparison_is_refused_as_a_whole() -> None:
    store = store_with({A: InstanceStatus.ACTIVE, B: InstanceStatus.BUILDING})
    before, claims = store.get([A, B]), FakeClaims("fenced")
    with pytest.raises(errors.InstanceConflict, match="in progress; retry"):
        make_reconciler(store, claims).compare([A, B])
    with pytest.raises(errors.UnknownInstance):
        make_reconciler(store, claims).compare([A, C])
    claims.down = True
    with pytest.raises(messaging.MessagingTimeout):
        make_reconciler(store, claims).compare([A])
    assert store.get([A, B]) == before


class TwoPartitions:
    """A scheduler of two partitions, which may be down."""

    is_down = False

    def list_partitions(self, ctxt: RequestContext) -> objects.PartitionList:
        if self.is_down:
            raise messaging.MessagingTimeout("no answer")
        return partition_list(["cell", "west"])


def two_partitions(
    store: MemoryConductorStore, own: FakeClaims, west: FakeClaims, scheduler: TwoPartitions
) -> RecordReconciler:
    claims = {"cell": own, "west": west}
    clients = ServiceClients(scheduler, None, claims.get, "cell")  # type: ignore[arg-type]
    return RecordReconciler(make_conductor(store, clients), 60.0)


@pytest.mark.parametrize("by_request", [True, False], ids=["request", "periodic"])
@pytest.mark.parametrize(
    ("answer", "migration", "certain_epoch", "status", "is_found"),
    [
        ("confirmed", None, 1, InstanceStatus.ERROR, True),
        ("conflict", None, 1, InstanceStatus.ERROR, True),
        ("unknown", None, 1, InstanceStatus.ERROR, False),
        ("conflict", None, 2, InstanceStatus.ERROR, False),
        ("conflict", None, 1, InstanceStatus.ACTIVE, False),
        ("conflict", "m", 1, InstanceStatus.ACTIVE, True),
    ],
)
def test_uncertain_record_is_looked_for_in_other_partitions(
    monkeypatch: pytest.MonkeyPatch,
    *,
    answer: str,
    migration: str | None,
    certain_epoch: int,
    status: InstanceStatus,
    is_found: bool,
    by_request: bool,
) -> None:
    store = store_with({"a" * 36: status}, certain_epoch=certain_epoch)
    monkeypatch.setattr(store, "epoch", lambda: 2)
    monkeypatch.setattr(reconciler, "check_uuids", lambda *_arguments: None)
    own = FakeClaims("confirmed" if status == InstanceStatus.ACTIVE else "unknown", "h1/n")
    west = FakeClaims(answer, "w1/n", migration)
    comparison = two_partitions(store, own, west, TwoPartitions())
    if by_request:
        comparison.compare(["a" * 36])
    else:
        comparison.run_once()
    record = store.get(["a" * 36])["a" * 36]
    assert (record.partition, record.step) == (("west", "settle") if is_found else ("cell", "done"))


def test_silent_partition_is_called_once_in_a_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciler, "PAGE", 1)
    store = store_with(dict.fromkeys("ab", InstanceStatus.ERROR), certain_epoch=1)
    monkeypatch.setattr(store, "epoch", lambda: 2)
    calls: list[list[str]] = []

    class Silent(FakeClaims):
        def find_claims(self, ctxt: object, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
            calls.append(list(refs.consumers))
            raise messaging.MessagingTimeout("no answer")

    comparison = two_partitions(store, FakeClaims("unknown"), Silent("unknown"), TwoPartitions())
    for comparisons in (1, 2):  # each has two pages
        while comparison.run_once() == PAGE_PAUSE:
            pass
        assert calls == [["a"]] * comparisons
    assert {record.status for record in store.get(["a", "b"]).values()} == {"ERROR"}


def test_records_are_compared_while_the_scheduler_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    store = store_with({"a": InstanceStatus.ACTIVE, "b": InstanceStatus.ERROR}, certain_epoch=1)
    monkeypatch.setattr(store, "epoch", lambda: 2)
    scheduler = TwoPartitions()
    scheduler.is_down = True
    two_partitions(store, FakeClaims("fenced"), FakeClaims("conflict", "w1/n"), scheduler).run_once()
    assert store.get(["a"])["a"].status == "ERROR"
    assert store.get(["b"])["b"].partition == "cell"
