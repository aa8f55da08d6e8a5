# SPDX-License-Identifier: Apache-2.0
"""Epochs and audits: claims while a host must audit, and reconciliation by its audit."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from tests.support.store.store_partition import LONG_MS, SHORT_MS, SMALL, StorePartition, running

REF = ClaimRef("c1", 1)


def audit(partition: StorePartition, *claims, host: str = "h1", grace_ms: int = LONG_MS):
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, grace_ms)


def test_no_host_is_open_in_a_new_epoch_until_audited(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    epoch = partition.new_epoch()
    assert partition.store.snapshot().epoch == epoch
    assert tuple(partition.prepare("c1", "h1", "h2").verdicts) == (Verdict.CLOSED, Verdict.CLOSED)
    audit(partition, host="h2")
    assert partition.prepare("c1", "h1", "h2").host == "h2"
    assert partition.store.snapshot().opened["h2"] == epoch


def test_audit_of_another_epoch_opens_nothing(partition: StorePartition) -> None:
    partition.add_host("h1", opened=False)
    epoch = partition.store.snapshot().epoch
    outcome = partition.store.audit("h1", epoch - 1, [running(REF, "h1")], 0)
    assert (outcome.epoch, list(outcome.answers)) == (epoch, [])
    assert partition.states() == {} and partition.store.snapshot().opened == {}


@pytest.mark.parametrize("claims", [(), (running(REF, "h9"),)], ids=["nothing runs", "something runs"])
def test_host_that_never_reported_is_not_opened(partition: StorePartition, claims) -> None:
    partition.add_host("h1")
    partition.store.heartbeat("h9", "gantt-conductor")
    before = partition.store.snapshot()
    with pytest.raises(errors.UnknownHost, match="'h9'"):
        audit(partition, *claims, host="h9")
    assert partition.store.snapshot() == before and partition.states() == {}
    # Then the next epoch does not await it either
    partition.new_epoch()
    audit(partition)
    assert partition.store.abort([REF])[0].answer is Answer.UNKNOWN


def test_forgotten_claim_is_reasserted_by_audit(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.new_epoch()
    outcome = audit(partition, running(REF, "h1"))
    assert (outcome.answers[0].answer, outcome.reasserted) == (Answer.CONFIRMED, 1)
    assert partition.used("h1") == SMALL
    again = audit(partition, running(REF, "h1"))
    assert (again.answers[0].answer, again.reasserted) == (Answer.CONFIRMED, 0)
    assert list(partition.check().excess) == []


def test_reasserted_excess_is_flagged_until_resolved(partition: StorePartition) -> None:
    partition.add_host("h1", amounts=SMALL)
    partition.hold("c2", "h1")
    audit(partition, running(REF, "h1"), running(ClaimRef("c2", 1), "h1"))
    excess = partition.check().excess
    assert [(entry["provider"], entry["class"], entry["used"], entry["capacity"]) for entry in excess] == [
        ("h1", "MEMORY_MB", 128, 64),
        ("h1", "VCPU", 2, 1),
    ]
    partition.store.release("h1", [REF])
    assert list(partition.check().excess) == []


def test_forgotten_confirm_is_restored_by_audit(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.new_epoch()
    outcome = audit(partition, running(REF, "h1"))
    assert (outcome.answers[0].answer, outcome.reasserted) == (Answer.CONFIRMED, 1)
    assert partition.states() == {"c1": "confirmed"}
    partition.check()


def test_ended_claim_stays_ended(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.store.abort([REF])
    outcome = audit(partition, running(REF, "h1"))
    assert outcome.answers[0].answer is Answer.ABORTED
    assert partition.used("h1") == {} and partition.states() == {}


def test_attempt_before_an_ended_one_has_ended_too(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.store.release("h1", [partition.hold("c1", "h1", attempt=2)])
    outcome = audit(partition, running(REF, "h1"))
    assert (outcome.answers[0].answer, partition.states()) == (Answer.ABORTED, {})
    assert partition.store.find([REF])[0].answer is Answer.ABORTED


def test_reported_claim_with_live_claim_elsewhere_is_conflict(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    partition.hold("c1", "h2")
    partition.hold("c2", "h2", attempt=2)
    outcome = audit(partition, running(REF, "h1"), running(ClaimRef("c2", 1), "h1"))
    assert [result.answer for result in outcome.answers] == [Answer.UNVERIFIED, Answer.CONFLICT]
    assert partition.used("h1") == SMALL


def test_unconfirmed_reported_claims_stay_end_or_are_aborted(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    late = partition.prepare("c2", "h1", ttl_ms=SHORT_MS)
    partition.pass_deadline(late)
    waiting = [running(ClaimRef(name, 1), "h1", confirmed=False) for name in ("c1", "c2", "c3")]
    outcome = audit(partition, *waiting)
    assert [result.answer for result in outcome.answers] == [Answer.PREPARED, Answer.EXPIRED, Answer.ABORTED]
    # The store has forgotten nothing of this host: an attempt that it does not know is not recorded as ended
    assert partition.prepare("c3", "h1").answer is Answer.PREPARED
    # In a new epoch it may have: then a late prepare of that attempt must not succeed
    partition.new_epoch()
    assert audit(partition, running(ClaimRef("c4", 1), "h1", confirmed=False)).answers[0].answer is Answer.ABORTED
    assert partition.prepare("c4", "h1").answer is Answer.ENDED
    partition.check()


def test_orphan_is_released_after_grace(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    first = audit(partition, grace_ms=SHORT_MS)
    assert (first.orphans, first.released) == (1, 0) and 0 < first.again_ms <= SHORT_MS
    since = partition.store.claims()[0][0].orphan_ms
    assert since is not None
    partition.wait_until(since + SHORT_MS)
    second = audit(partition, grace_ms=SHORT_MS)
    assert (second.orphans, second.released) == (0, 1)
    assert partition.used("h1") == {}
    assert audit(partition, running(REF, "h1")).answers[0].answer is Answer.RELEASED
    partition.check()


def test_reported_orphan_is_cleared(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    audit(partition)
    audit(partition, running(REF, "h1"))
    assert partition.store.claims()[0][0].orphan_ms is None


def test_prepared_claim_of_a_closed_host_neither_expires_nor_aborts(partition: StorePartition) -> None:
    partition.add_host("h1", amounts=SMALL)
    partition.add_host("h2")
    prepared = partition.prepare("c1", "h1", ttl_ms=SHORT_MS)
    partition.new_epoch()
    assert partition.store.abort([REF])[0].answer is Answer.CLOSED
    assert partition.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    partition.pass_deadline(prepared)
    assert partition.store.reap(dead_after_ms=60_000, tombstone_ms=60_000).ended == 0
    assert partition.store.confirm("h1", [REF])[0].answer is Answer.CLOSED
    assert partition.prepare("c1", "h1").answer is Answer.CLOSED
    assert partition.used("h1") == SMALL
    partition.check()
    audit(partition)
    assert partition.used("h1") == {}
    assert partition.store.abort([REF])[0].answer is Answer.EXPIRED
    partition.check()


def test_prepared_claim_is_aborted_in_a_new_epoch(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.prepare("c2", "h1")
    partition.new_epoch()
    assert partition.store.confirm("h1", [REF])[0].answer is Answer.CLOSED
    outcome = audit(partition, running(REF, "h1", confirmed=False))
    assert outcome.answers[0].answer is Answer.ABORTED
    for consumer in ("c1", "c2"):
        assert partition.store.confirm("h1", [ClaimRef(consumer, 1)])[0].answer is Answer.ABORTED
        assert partition.prepare(consumer, "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    partition.check()


def test_confirmed_claim_is_confirmed_in_any_epoch(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.new_epoch()
    assert partition.store.confirm("h1", [REF])[0].answer is Answer.CONFIRMED


def test_forgotten_replacement_is_proved_by_the_later_attempt(partition: StorePartition) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    partition.prepare("c1", "h1")
    partition.hold("c2", "h1")
    before = partition.mark()
    for consumer in ("c1", "c2"):
        partition.store.release("h1", [ClaimRef(consumer, 1)])
        partition.hold(consumer, "h2", attempt=2)
    partition.forget_since(before)
    assert partition.prepare("c1", "h1", attempt=3, replaces=2).answer is Answer.CLOSED
    guests = [running(ClaimRef(consumer, 2), "h2") for consumer in ("c1", "c2")]
    assert [result.answer for result in audit(partition, *guests, host="h2").answers] == [Answer.CONFIRMED] * 2
    assert partition.used("h1") == {}
    assert [result.answer for result in partition.store.confirm("h1", [REF, ClaimRef("c2", 1)])] == [
        Answer.ABORTED,
        Answer.RELEASED,
    ]
    partition.check()


def test_audit_may_report_two_attempts_of_a_consumer(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.hold("c1", "h1", attempt=2, replaces=1)
    outcome = audit(partition, running(REF, "h1", confirmed=False), running(ClaimRef("c1", 2), "h1"))
    assert [result.answer for result in outcome.answers] == [Answer.ABORTED, Answer.CONFIRMED]
    assert outcome.orphans == 0


def test_possibly_forgotten_claim_is_not_ended_before_audit(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    partition.new_epoch()
    audit(partition, host="h2")
    assert partition.store.abort([REF])[0].answer is Answer.CLOSED
    assert partition.store.abort([REF], host="h1")[0].answer is Answer.CLOSED
    assert partition.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    assert partition.store.abort([ClaimRef("c9", 1)], host="h2")[0].answer is Answer.UNKNOWN
    audit(partition, running(REF, "h1"))
    assert partition.store.abort([REF])[0].answer is Answer.CONFIRMED
    assert partition.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CONFIRMED


def test_attempt_that_was_sent_to_an_audited_host_only_is_ended_immediately(partition: StorePartition) -> None:
    # Given a host that never comes back after a failover
    partition.add_host("h1")
    partition.add_host("dead")
    partition.new_epoch()
    audit(partition)
    # When a conductor aborts an attempt that it prepared since, and the next attempt
    partition.prepare("c1", "h1")
    refs = [REF, ClaimRef("c1", 2)]
    # Then the aborts of one that knows where it sent them are not CLOSED because of that host
    for _ in range(2):
        assert [result.answer for result in partition.store.abort(refs)] == [Answer.ABORTED, Answer.CLOSED]
    answers = [result.answer for result in partition.store.abort(refs, destinations=["h1", "h1"])]
    assert answers == [Answer.ABORTED, Answer.UNKNOWN]


def test_orphan_is_no_evidence_of_the_newest_attempt(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    partition.hold("c1", "h1")
    before = partition.mark()
    partition.store.release("h1", [REF])
    partition.hold("c1", "h2", attempt=2)
    partition.forget_since(before)
    audit(partition)
    assert partition.store.abort([ClaimRef("c1", 2)])[0].answer is Answer.CLOSED
    audit(partition, grace_ms=0)
    assert partition.store.abort([ClaimRef("c1", 2)])[0].answer is Answer.CLOSED
    assert audit(partition, running(ClaimRef("c1", 2), "h2"), host="h2").answers[0].answer is Answer.CONFIRMED


def test_large_audit_is_reconciled_completely(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 1000, "MEMORY_MB": 100_000})
    partition.new_epoch()
    claims = [running(ClaimRef(f"c{n}", 1), "h1") for n in range(250)]
    outcome = audit(partition, *claims)
    assert outcome.reasserted == 250
    assert partition.used("h1") == {"VCPU": 250, "MEMORY_MB": 16_000}
    assert audit(partition, *claims).orphans == 0
    assert partition.check().claims == {"prepared": 0, "confirmed": 250}
