# SPDX-License-Identifier: Apache-2.0
"""Epochs and audits: claims while a host must audit, and reconciliation by its audit."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import ClaimRef
from tests.unit.scheduler_svc.store.world import LONG_MS, SHORT_MS, SMALL, World, node_stats, running

REF = ClaimRef("c1", 1)


def audit(world: World, *claims, host: str = "h1", grace_ms: int = LONG_MS):
    return world.store.audit(host, world.store.snapshot().epoch, claims, grace_ms)


def test_no_host_is_open_in_a_new_epoch_until_audited(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    epoch = world.new_epoch()
    assert world.store.snapshot().epoch == epoch
    assert tuple(world.prepare("c1", "h1", "h2").verdicts) == (Verdict.CLOSED, Verdict.CLOSED)
    audit(world, host="h2")
    assert world.prepare("c1", "h1", "h2").host == "h2"
    assert world.store.snapshot().opened["h2"] == epoch


def test_audit_of_another_epoch_opens_nothing(world: World) -> None:
    world.add_host("h1", opened=False)
    epoch = world.store.snapshot().epoch
    outcome = world.store.audit("h1", epoch - 1, [running(REF, "h1")], 0)
    assert (outcome.epoch, list(outcome.answers)) == (epoch, [])
    assert world.states() == {} and world.store.snapshot().opened == {}


@pytest.mark.parametrize("claims", [(), (running(REF, "h9"),)], ids=["nothing runs", "something runs"])
def test_host_that_never_reported_is_not_opened(world: World, claims) -> None:
    world.add_host("h1")
    world.store.heartbeat("h9", "gantt-conductor")
    before = world.store.snapshot()
    with pytest.raises(errors.UnknownHost, match="'h9'"):
        audit(world, *claims, host="h9")
    assert world.store.snapshot() == before and world.states() == {}
    # Then the next epoch does not await it either
    world.new_epoch()
    audit(world)
    assert world.store.abort([REF])[0].answer is Answer.UNKNOWN


def test_forgotten_claim_is_reasserted_by_audit(world: World) -> None:
    world.add_host("h1")
    world.new_epoch()
    outcome = audit(world, running(REF, "h1"))
    assert (outcome.answers[0].answer, outcome.reasserted) == (Answer.CONFIRMED, 1)
    assert world.used("h1") == SMALL
    again = audit(world, running(REF, "h1"))
    assert (again.answers[0].answer, again.reasserted) == (Answer.CONFIRMED, 0)
    assert list(world.check().excess) == []


def test_reasserted_excess_is_flagged_until_resolved(world: World) -> None:
    world.add_host("h1", amounts=SMALL)
    world.hold("c2", "h1")
    audit(world, running(REF, "h1"), running(ClaimRef("c2", 1), "h1"))
    excess = world.check().excess
    assert [(entry["provider"], entry["class"], entry["used"], entry["capacity"]) for entry in excess] == [
        ("h1", "MEMORY_MB", 128, 64),
        ("h1", "VCPU", 2, 1),
    ]
    world.store.release("h1", [REF])
    assert list(world.check().excess) == []


def test_forgotten_confirm_is_restored_by_audit(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.new_epoch()
    outcome = audit(world, running(REF, "h1"))
    assert (outcome.answers[0].answer, outcome.reasserted) == (Answer.CONFIRMED, 1)
    assert world.states() == {"c1": "confirmed"}
    world.check()


def test_ended_claim_stays_ended(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.store.abort([REF])
    outcome = audit(world, running(REF, "h1"))
    assert outcome.answers[0].answer is Answer.ABORTED
    assert world.used("h1") == {} and world.states() == {}


def test_reported_claim_with_live_claim_elsewhere_is_conflict(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    world.hold("c1", "h2")
    world.hold("c2", "h2", attempt=2)
    outcome = audit(world, running(REF, "h1"), running(ClaimRef("c2", 1), "h1"))
    assert [result.answer for result in outcome.answers] == [Answer.CONFLICT, Answer.CONFLICT]
    assert world.used("h1") == {}


def test_unconfirmed_reported_claims_stay_end_or_are_aborted(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    late = world.prepare("c2", "h1", ttl_ms=SHORT_MS)
    world.pass_deadline(late)
    waiting = [running(ClaimRef(name, 1), "h1", confirmed=False) for name in ("c1", "c2", "c3")]
    outcome = audit(world, *waiting)
    assert [result.answer for result in outcome.answers] == [Answer.PREPARED, Answer.EXPIRED, Answer.ABORTED]
    assert world.prepare("c3", "h1").answer is Answer.ENDED
    world.check()


def test_orphan_is_released_after_grace(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    first = audit(world, grace_ms=SHORT_MS)
    assert (first.orphans, first.released) == (1, 0) and 0 < first.again_ms <= SHORT_MS
    since = world.store.claims()[0][0].orphan_ms
    assert since is not None
    world.wait_until(since + SHORT_MS)
    second = audit(world, grace_ms=SHORT_MS)
    assert (second.orphans, second.released) == (0, 1)
    assert world.used("h1") == {}
    assert audit(world, running(REF, "h1")).answers[0].answer is Answer.RELEASED
    world.check()


def test_reported_orphan_is_cleared(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    audit(world)
    audit(world, running(REF, "h1"))
    assert world.store.claims()[0][0].orphan_ms is None


def test_prepared_claim_of_a_closed_host_neither_expires_nor_aborts(world: World) -> None:
    world.add_host("h1", amounts=SMALL)
    world.add_host("h2")
    prepared = world.prepare("c1", "h1", ttl_ms=SHORT_MS)
    world.new_epoch()
    assert world.store.abort([REF])[0].answer is Answer.CLOSED
    assert world.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    world.pass_deadline(prepared)
    assert world.store.reap(dead_after_ms=60_000, tombstone_ms=60_000) == 0
    assert world.store.confirm("h1", [REF])[0].answer is Answer.CLOSED
    assert world.prepare("c1", "h1").answer is Answer.CLOSED
    assert world.used("h1") == SMALL
    world.check()
    audit(world)
    assert world.used("h1") == {}
    assert world.store.abort([REF])[0].answer is Answer.EXPIRED
    world.check()


def test_prepared_claim_is_aborted_in_a_new_epoch(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.prepare("c2", "h1")
    world.new_epoch()
    assert world.store.confirm("h1", [REF])[0].answer is Answer.CLOSED
    outcome = audit(world, running(REF, "h1", confirmed=False))
    assert outcome.answers[0].answer is Answer.ABORTED
    for consumer in ("c1", "c2"):
        assert world.store.confirm("h1", [ClaimRef(consumer, 1)])[0].answer is Answer.ABORTED
        assert world.prepare(consumer, "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    world.check()


def test_confirmed_claim_is_confirmed_in_any_epoch(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.new_epoch()
    assert world.store.confirm("h1", [REF])[0].answer is Answer.CONFIRMED


def test_forgotten_replacement_is_proved_by_the_later_attempt(world: World) -> None:
    for host in ("h1", "h2"):
        world.add_host(host)
    world.prepare("c1", "h1")
    world.hold("c2", "h1")
    before = world.mark()
    for consumer in ("c1", "c2"):
        world.store.release("h1", [ClaimRef(consumer, 1)])
        world.hold(consumer, "h2", attempt=2)
    world.forget_since(before)
    assert world.prepare("c1", "h1", attempt=3, replaces=2).answer is Answer.CLOSED
    guests = [running(ClaimRef(consumer, 2), "h2") for consumer in ("c1", "c2")]
    assert [result.answer for result in audit(world, *guests, host="h2").answers] == [Answer.CONFIRMED] * 2
    assert world.used("h1") == {}
    assert [result.answer for result in world.store.confirm("h1", [REF, ClaimRef("c2", 1)])] == [
        Answer.ABORTED,
        Answer.RELEASED,
    ]
    world.check()


def test_audit_may_report_two_attempts_of_a_consumer(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.hold("c1", "h1", attempt=2, replaces=1)
    outcome = audit(world, running(REF, "h1", confirmed=False), running(ClaimRef("c1", 2), "h1"))
    assert [result.answer for result in outcome.answers] == [Answer.ABORTED, Answer.CONFIRMED]
    assert outcome.orphans == 0


def test_possibly_forgotten_claim_is_not_ended_before_audit(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    world.new_epoch()
    audit(world, host="h2")
    assert world.store.abort([REF])[0].answer is Answer.CLOSED
    assert world.store.abort([REF], host="h1")[0].answer is Answer.CLOSED
    assert world.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CLOSED
    assert world.store.abort([ClaimRef("c9", 1)], host="h2")[0].answer is Answer.UNKNOWN
    audit(world, running(REF, "h1"))
    assert world.store.abort([REF])[0].answer is Answer.CONFIRMED
    assert world.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.CONFIRMED


def test_attempt_that_cannot_be_forgotten_is_ended_immediately(world: World) -> None:
    # Given a host that never comes back after a failover
    world.add_host("h1")
    world.add_host("dead")
    world.new_epoch()
    audit(world)
    # When a conductor aborts an attempt that it prepared since, and the next attempt
    world.prepare("c1", "h1")
    refs = [REF, ClaimRef("c1", 2)]
    # Then the aborts are not CLOSED because of that host
    for _ in range(2):
        assert [result.answer for result in world.store.abort(refs)] == [Answer.ABORTED, Answer.UNKNOWN]
    world.hold("c2", "h1")
    assert world.store.abort([ClaimRef("c2", 2)])[0].answer is Answer.UNKNOWN


def test_orphan_is_no_evidence_of_the_newest_attempt(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    world.hold("c1", "h1")
    before = world.mark()
    world.store.release("h1", [REF])
    world.hold("c1", "h2", attempt=2)
    world.forget_since(before)
    audit(world)
    assert world.store.abort([ClaimRef("c1", 2)])[0].answer is Answer.CLOSED
    audit(world, grace_ms=0)
    assert world.store.abort([ClaimRef("c1", 2)])[0].answer is Answer.CLOSED
    assert audit(world, running(ClaimRef("c1", 2), "h2"), host="h2").answers[0].answer is Answer.CONFIRMED


def test_large_audit_is_reconciled_completely(world: World) -> None:
    world.add_host("h1", amounts={"VCPU": 1000, "MEMORY_MB": 100_000})
    claims = [running(ClaimRef(f"c{n}", 1), "h1") for n in range(250)]
    outcome = audit(world, *claims)
    assert outcome.reasserted == 250
    assert world.used("h1") == {"VCPU": 250, "MEMORY_MB": 16_000}
    assert audit(world, *claims).orphans == 0
    assert world.check().claims == {"prepared": 0, "confirmed": 250}


def test_inventory_below_usage_is_flagged_and_refuses_claims(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.report("h1", {"h1": node_stats({"VCPU": 0, "MEMORY_MB": 1024})})
    assert [(entry["class"], entry["used"], entry["capacity"]) for entry in world.check().excess] == [("VCPU", 1, 0)]
    assert world.prepare("c2", "h1").answer is Answer.REFUSED
    world.report("h1", {"h1": node_stats({"VCPU": 4, "MEMORY_MB": 1024})})
    assert list(world.check().excess) == []


def test_removed_node_with_claims_is_flagged_as_excess(world: World) -> None:
    world.add_host("h1", "h1/n1", "h1/n2")
    world.hold("c1", "h1/n1")
    world.report("h1", {"h1/n2": node_stats({"VCPU": 4, "MEMORY_MB": 1024})})
    assert {entry["provider"] for entry in world.check().excess} == {"h1/n1"}
    assert tuple(world.prepare("c2", "h1/n1").verdicts) == (Verdict.UNKNOWN,)
    world.store.release("h1", [REF])
    assert list(world.check().excess) == []
    assert world.store.snapshot().used.get("h1/n1", {}) == {}
