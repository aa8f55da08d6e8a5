# SPDX-License-Identifier: Apache-2.0
"""Moved claims: every verb on the former identity names the present one, also after an epoch or a rollback."""

from dataclasses import replace

import pytest

from rpcapi.resources.claims import Answer, GroupPolicy
from scheduler_svc.core.records import ClaimGroup, ClaimRef, ClaimResult
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from tests.unit.scheduler_svc.store.store_partition import LONG_MS, SMALL, StorePartition, intent, running

REF, MIGRATION, NEXT = ClaimRef("c1", 1), ClaimRef("m1", 1), ClaimRef("c1", 2)
GROUP = ClaimGroup("g1", GroupPolicy.AFFINITY)


@pytest.fixture
def moved(partition: StorePartition) -> StorePartition:
    """A partition with a claim of c1 on h1 that was moved to m1."""
    partition.add_host("h1")
    partition.add_host("h2")
    partition.hold("c1", "h1")
    partition.store.move(REF, MIGRATION, "MIGRATION")
    return partition


def audit(partition: StorePartition, *claims: RunningClaim, host: str = "h1", grace_ms: int = 0) -> AuditOutcome:
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, grace_ms)


def journalled(ref: ClaimRef, host: str = "h1", origin: ClaimRef = REF) -> RunningClaim:
    """Return the entry of a claim whose agent has journalled its new identity."""
    return replace(running(ref, host), moved_from=origin)


@pytest.mark.parametrize("verb", ["confirm", "release"])
def test_verbs_of_its_host_name_the_present_identity(moved: StorePartition, verb: str) -> None:
    answer = ClaimResult("c1", 1, Answer.MOVED, moved_to=MIGRATION)
    assert getattr(moved.store, verb)("h1", [REF]) == [answer]
    assert moved.states() == {"m1": "confirmed"}


def test_abort_and_find_name_the_present_identity(moved: StorePartition) -> None:
    answer = ClaimResult("c1", 1, Answer.MOVED, moved_to=MIGRATION)
    assert moved.store.abort([REF]) == moved.store.find([REF]) == [answer]
    assert moved.states() == {"m1": "confirmed"}


def test_audit_of_the_former_identity_keeps_the_claim(moved: StorePartition) -> None:
    outcome = audit(moved, running(REF, "h1"))
    assert outcome.answers == [ClaimResult("c1", 1, Answer.MOVED, moved_to=MIGRATION)]
    assert (outcome.released, outcome.orphans, moved.states()) == (0, 0, {"m1": "confirmed"})
    assert audit(moved, journalled(MIGRATION)).answers == [ClaimResult("m1", 1, Answer.CONFIRMED)]
    moved.check()


def test_present_identity_is_the_last_of_several_moves(moved: StorePartition) -> None:
    moved.store.move(MIGRATION, NEXT, "INSTANCE")
    assert moved.store.release("h1", [REF]) == [ClaimResult("c1", 1, Answer.MOVED, moved_to=NEXT)]
    assert moved.store.find([MIGRATION]) == [ClaimResult("m1", 1, Answer.MOVED, moved_to=NEXT)]
    assert audit(moved, running(REF, "h1")).answers[0].moved_to == NEXT
    assert moved.states() == {"c1": "confirmed"}


def test_refused_move_to_a_later_attempt_does_not_end_the_live_one(moved: StorePartition) -> None:
    # Given a claim that was moved back, then a late move of the migration to a later attempt, which is refused
    moved.store.move(MIGRATION, NEXT, "INSTANCE")
    later = ClaimRef("c1", 3)
    assert moved.store.move(MIGRATION, later, "INSTANCE").answer is Answer.MOVED
    assert moved.store.find([later])[0].answer is Answer.ABORTED
    # When messages name the former identities, Then their claim is the live one
    answer = ClaimResult("m1", 1, Answer.MOVED, moved_to=NEXT)
    assert moved.store.find([MIGRATION]) == moved.store.release("h1", [MIGRATION]) == [answer]
    assert audit(moved, journalled(MIGRATION)).answers == [answer]
    assert moved.states() == {"c1": "confirmed"}
    assert moved.store.move(ClaimRef("m2", 1), NEXT, "INSTANCE").answer is Answer.UNKNOWN
    moved.check()


def test_forgotten_move_of_an_attempt_below_an_ended_one_is_restored(partition: StorePartition) -> None:
    # Given a live attempt of which a later one has ended, and a move of it that the store forgot
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.store.abort([ClaimRef("c1", 4)])
    mark = partition.mark()
    assert partition.store.move(REF, MIGRATION, "MIGRATION").answer is Answer.CONFIRMED
    partition.forget_since(mark)
    # When its agent audits, Then the move is repeated, and the claim counted once
    assert audit(partition, journalled(MIGRATION)).answers == [ClaimResult("m1", 1, Answer.CONFIRMED)]
    assert partition.states() == {"m1": "confirmed"} and partition.used("h1") == SMALL
    assert partition.store.find([REF]) == [ClaimResult("c1", 1, Answer.MOVED, moved_to=MIGRATION)]
    partition.check()


@pytest.mark.parametrize("moves", [1, 2])
def test_former_identity_has_ended_when_the_present_one_has(moved: StorePartition, moves: int) -> None:
    last = MIGRATION if moves == 1 else NEXT
    if moves == 2:
        moved.store.move(MIGRATION, NEXT, "INSTANCE")
    moved.store.release("h1", [last])
    assert moved.store.find([REF])[0].answer is Answer.RELEASED
    assert audit(moved, running(REF, "h1")).answers == [ClaimResult("c1", 1, Answer.RELEASED)]


def test_fenced_source_is_answered_as_fenced(moved: StorePartition) -> None:
    moved.store.fence("h1", "token", force=True)
    assert audit(moved, running(REF, "h1")).answers[0].answer is Answer.FENCED


@pytest.mark.parametrize("entry", [running(REF, "h1"), journalled(MIGRATION)], ids=["before", "after the journal"])
def test_epoch_after_the_move_keeps_the_claim(moved: StorePartition, entry: RunningClaim) -> None:
    moved.new_epoch()
    outcome = audit(moved, entry)
    assert outcome.answers[0].answer is (Answer.MOVED if entry.consumer == "c1" else Answer.CONFIRMED)
    assert moved.states() == {"m1": "confirmed"} and moved.used("h1") == SMALL
    moved.check()


def test_forgotten_move_is_repeated_for_an_agent_without_a_message_about_it(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    mark = partition.mark()
    partition.store.move(REF, MIGRATION, "MIGRATION")
    partition.forget_since(mark)
    assert audit(partition, running(REF, "h1")).answers[0].answer is Answer.CONFIRMED
    assert partition.store.move(REF, MIGRATION, "MIGRATION") == ClaimResult("m1", 1, Answer.CONFIRMED, "h1")


def test_forgotten_move_is_restored_from_the_journal(partition: StorePartition) -> None:
    # Given a move that the store forgot after the agent had journalled it
    partition.add_host("h1")
    partition.hold("c1", "h1")
    mark = partition.mark()
    partition.store.move(REF, MIGRATION, "MIGRATION")
    partition.forget_since(mark)
    # When the agent audits
    outcome = audit(partition, journalled(MIGRATION))
    # Then the claim is the migration's, counted once, and the former attempt has ended again
    assert outcome.answers == [ClaimResult("m1", 1, Answer.CONFIRMED)]
    assert partition.states() == {"m1": "confirmed"} and partition.used("h1") == SMALL
    assert partition.store.find([REF]) == [ClaimResult("c1", 1, Answer.MOVED, moved_to=MIGRATION)]
    partition.check()


def test_forgotten_claim_and_move_are_restored_beside_the_destination(partition: StorePartition) -> None:
    # Given a store that forgot the first claim, its move and the destination's claim
    partition.add_host("h1")
    partition.add_host("h2")
    mark = partition.mark()
    partition.hold("c1", "h1")
    partition.store.move(REF, MIGRATION, "MIGRATION")
    partition.hold("c1", "h2", attempt=2)
    partition.forget_since(mark)
    # When both agents audit, the destination's first
    assert audit(partition, running(NEXT, "h2"), host="h2").answers[0].answer is Answer.CONFIRMED
    assert audit(partition, journalled(MIGRATION)).answers[0].answer is Answer.CONFIRMED
    # Then each holds its own
    assert partition.states() == {"m1": "confirmed", "c1": "confirmed"}
    assert (partition.used("h1"), partition.used("h2")) == (SMALL, SMALL)
    partition.check()


def test_journal_moves_no_claim_outside_a_new_epoch(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    assert audit(partition, running(REF, "h1"), journalled(MIGRATION), grace_ms=LONG_MS).answers[1].answer is (
        Answer.UNVERIFIED
    )
    assert partition.store.find([REF])[0].answer is Answer.CONFIRMED


def test_affinity_counts_the_destination_instead_of_the_source(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    partition.hold("c1", "h1", group=GROUP)
    partition.store.move(REF, MIGRATION, "MIGRATION")
    assert partition.store.group_hosts("g1") == {}
    batch = partition.batch(intent("c1", "h2", attempt=2), group=GROUP)
    assert partition.store.prepare(batch).accepted
    assert partition.store.group_hosts("g1") == {"h2": 1}
    partition.check()


def test_anti_affinity_counts_the_source_until_its_end(partition: StorePartition) -> None:
    group = replace(GROUP, policy=GroupPolicy.ANTI_AFFINITY)
    partition.add_host("h1")
    partition.hold("c1", "h1", group=group)
    partition.store.move(REF, MIGRATION, "MIGRATION")
    assert partition.store.group_hosts("g1") == {"h1": 1}
    partition.store.release("h1", [MIGRATION])
    assert partition.store.group_hosts("g1") == {}
