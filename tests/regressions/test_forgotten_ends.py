# SPDX-License-Identifier: Apache-2.0
"""What a partition's store shows after a failover forgot that claims had ended, or had changed hands."""

import pytest

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef
from tests.unit.scheduler_svc.store.conftest import make_partition, partition, sqlite_url
from tests.unit.scheduler_svc.store.store_partition import LONG_MS, SMALL, StorePartition, running

__all__ = ["make_partition", "partition", "sqlite_url"]  # fixtures

MIGRATION = ClaimRef("m1", 1)


def audit(partition: StorePartition, host: str, *claims, grace_ms: int = 0):
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, grace_ms)


def full(partition: StorePartition, host: str = "h1") -> ClaimRef:
    """Add a host that one claim fills; return the claim."""
    partition.add_host(host, amounts=SMALL)
    return partition.hold("c1", host)


def test_forgotten_release_ends_with_the_next_audits(partition: StorePartition) -> None:
    # Given a claim that was released, and a failover that forgot it
    ref = full(partition)
    mark = partition.mark()
    partition.store.release("h1", [ref])
    partition.forget_since(mark)
    # Then the claim is back, and nothing else gets its capacity before its host has audited
    assert partition.states() == {"c1": "confirmed"}
    assert partition.prepare("c2", "h1").answer == Answer.REFUSED
    # When the host's audits report nothing, then the claim is an orphan first, and then ends
    assert audit(partition, "h1", grace_ms=LONG_MS).orphans == 1
    assert partition.states() == {"c1": "confirmed"}
    assert audit(partition, "h1").released == 1
    assert partition.prepare("c2", "h1").answer == Answer.PREPARED
    partition.check()


def test_repeated_release_of_a_forgotten_one(partition: StorePartition) -> None:
    ref = full(partition)
    mark = partition.mark()
    partition.store.release("h1", [ref])
    partition.forget_since(mark)
    assert partition.store.release("h1", [ref])[0].answer == Answer.RELEASED
    assert partition.states() == {}
    partition.check()


@pytest.mark.parametrize("audits_first", [False, True])
def test_forgotten_life_leaves_nothing(partition: StorePartition, *, audits_first: bool) -> None:
    # Given a claim that a failover forgot together with its end
    partition.add_host("h1", amounts=SMALL)
    mark = partition.mark()
    ref = partition.hold("c1", "h1")
    partition.store.release("h1", [ref])
    partition.forget_since(mark)
    # When it is ended again, then the store does not say that it ended before its host has audited
    if audits_first:
        audit(partition, "h1")
    assert partition.store.abort([ref])[0].answer == (Answer.UNKNOWN if audits_first else Answer.CLOSED)
    audit(partition, "h1")
    assert partition.prepare("c2", "h1").answer == Answer.PREPARED
    partition.check()


def test_forgotten_abort_does_not_outlast_its_deadline(partition: StorePartition) -> None:
    # Given the claim of a deleted instance, whose abort a failover forgot
    partition.add_host("h1", amounts=SMALL)
    prepared = partition.prepare("c1", "h1")
    ref = ClaimRef("c1", prepared.attempt)
    mark = partition.mark()
    partition.store.abort([ref])
    partition.forget_since(mark)
    # When its deadline passes, then its build message starts nothing, and its capacity is free
    partition.pass_deadline_of("c1")
    assert partition.store.confirm("h1", [ref])[0].answer != Answer.CONFIRMED
    audit(partition, "h1")
    assert partition.prepare("c2", "h1").answer == Answer.PREPARED
    partition.check()


def test_forgotten_abort_within_its_deadline(partition: StorePartition) -> None:
    partition.add_host("h1", amounts=SMALL)
    ref = ClaimRef("c1", partition.prepare("c1", "h1").attempt)
    mark = partition.mark()
    partition.store.abort([ref])
    partition.forget_since(mark)
    # When its late build message arrives, then nothing starts before its host has audited, nor after that
    assert partition.store.confirm("h1", [ref])[0].answer == Answer.CLOSED
    audit(partition, "h1")
    assert partition.store.confirm("h1", [ref])[0].answer == Answer.ABORTED
    partition.check()


def test_forgotten_hand_over_can_be_repeated(partition: StorePartition) -> None:
    # Given a claim that was moved to a migration, and a failover that forgot it
    ref = full(partition)
    mark = partition.mark()
    partition.store.move(ref, MIGRATION, "MIGRATION")
    partition.forget_since(mark)
    # Then it is its first consumer's again, and its sums are the same
    assert (partition.states(), partition.used("h1")) == ({"c1": "confirmed"}, SMALL)
    # When the move is repeated, then the migration has it
    assert partition.store.move(ref, MIGRATION, "MIGRATION").answer == Answer.CONFIRMED
    assert (partition.states(), partition.used("h1")) == ({"m1": "confirmed"}, SMALL)
    partition.check()


def test_forgotten_hand_over_that_the_host_knows(partition: StorePartition) -> None:
    # Given the same, and a host whose audit reports the claim as the migration's
    ref = full(partition)
    mark = partition.mark()
    partition.store.move(ref, MIGRATION, "MIGRATION")
    partition.forget_since(mark)
    outcome = audit(partition, "h1", running(MIGRATION, "h1"), grace_ms=LONG_MS)
    # Then both have it until the first one's grace passes; nothing else gets the capacity
    assert (outcome.reasserted, outcome.orphans) == (1, 1)
    assert set(partition.states()) == {"c1", "m1"}
    assert partition.prepare("c2", "h1").answer == Answer.REFUSED
    assert audit(partition, "h1", running(MIGRATION, "h1")).released == 1
    assert (partition.states(), partition.used("h1")) == ({"m1": "confirmed"}, SMALL)
    partition.check()
