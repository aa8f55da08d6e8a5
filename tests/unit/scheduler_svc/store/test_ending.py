# SPDX-License-Identifier: Apache-2.0
"""Confirm, abort, release and move: answers and idempotency."""

from typing import Any

from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimRef, ClaimResult
from tests.unit.scheduler_svc.store.world import SHORT_MS, SMALL, World, intent, running

REF = ClaimRef("c1", 1)


def answers(results: list[ClaimResult]) -> list[Answer]:
    return [result.answer for result in results]


def test_confirm_is_idempotent(world: World) -> None:
    world.add_host("h1", "h1/n1")
    world.prepare("c1", "h1/n1")
    for _ in range(2):
        assert world.store.confirm("h1", [REF]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1/n1")]
    assert world.states() == {"c1": "confirmed"}
    assert world.store.claims()[0][0].generation == 2
    world.check()


def test_confirm_of_unknown_ended_and_foreign_claims(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    world.prepare("c1", "h1")
    assert answers(world.store.confirm("h1", [ClaimRef("c2", 1), ClaimRef("c1", 2)])) == [
        Answer.UNKNOWN,
        Answer.UNKNOWN,
    ]
    assert answers(world.store.confirm("h2", [REF])) == [Answer.FOREIGN]
    assert world.states() == {"c1": "prepared"}


def test_expired_claim_is_refused_by_confirm(world: World) -> None:
    world.add_host("h1")
    world.pass_deadline(world.prepare("c1", "h1", ttl_ms=SHORT_MS))
    for _ in range(2):
        assert answers(world.store.confirm("h1", [REF])) == [Answer.EXPIRED]
    assert world.used("h1") == {}
    world.check()


def test_confirmed_claim_has_no_deadline(world: World) -> None:
    world.add_host("h1")
    # Long enough to confirm in time on a busy machine
    prepared = world.prepare("c1", "h1", ttl_ms=20 * SHORT_MS)
    assert answers(world.store.confirm("h1", [REF])) == [Answer.CONFIRMED]
    world.pass_deadline(prepared)
    world.store.reap(dead_after_ms=60_000, tombstone_ms=60_000)
    assert world.states() == {"c1": "confirmed"}


def test_abort_is_idempotent(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    for _ in range(2):
        assert answers(world.store.abort([REF])) == [Answer.ABORTED]
    assert answers(world.store.confirm("h1", [REF])) == [Answer.ABORTED]
    assert world.used("h1") == {}
    world.check()


def test_confirmed_claim_is_not_aborted(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    assert world.store.abort([REF]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1")]
    assert world.states() == {"c1": "confirmed"}


def test_abort_by_another_host_is_foreign(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    assert answers(world.store.abort([REF], host="h2")) == [Answer.FOREIGN]
    assert answers(world.store.abort([REF], host="h1")) == [Answer.ABORTED]


def test_abort_of_an_unknown_claim_stores_a_tombstone(world: World) -> None:
    world.add_host("h1")
    delayed = world.batch(intent("c1", "h1"))
    for _ in range(2):
        assert answers(world.store.abort([REF])) == [Answer.UNKNOWN]
    assert world.store.prepare(delayed).prepared[0].answer is Answer.ENDED
    assert answers(world.store.confirm("h1", [REF])) == [Answer.UNKNOWN]


def test_release_is_idempotent(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    assert answers(world.store.release("h2", [REF])) == [Answer.FOREIGN]
    for _ in range(2):
        assert answers(world.store.release("h1", [REF])) == [Answer.RELEASED]
    assert world.used("h1") == {}
    assert answers(world.store.confirm("h1", [REF])) == [Answer.RELEASED]
    world.check()


def test_release_of_a_prepared_claim(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    assert answers(world.store.release("h1", [REF])) == [Answer.RELEASED]
    world.check()


def test_release_of_an_unknown_claim_stores_a_tombstone(world: World) -> None:
    world.add_host("h1")
    delayed = world.batch(intent("c1", "h1"))
    for _ in range(2):
        assert answers(world.store.release("h1", [REF])) == [Answer.RELEASED]
    assert world.store.prepare(delayed).prepared[0].answer is Answer.ENDED


def test_release_of_an_ended_claim_returns_its_end(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.store.abort([REF])
    assert answers(world.store.release("h1", [REF])) == [Answer.ABORTED]


def test_claims_of_one_call_are_answered_independently(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.prepare("c2", "h1")
    results = world.store.confirm("h1", [REF, ClaimRef("cx", 1), ClaimRef("c2", 1)])
    assert answers(results) == [Answer.CONFIRMED, Answer.UNKNOWN, Answer.CONFIRMED]


def test_move_keeps_the_sums(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    to = ClaimRef("migration-1", 1)
    for _ in range(2):
        assert world.store.move(REF, to, "MIGRATION") == ClaimResult("migration-1", 1, Answer.CONFIRMED, "h1")
    assert world.used("h1") == SMALL
    assert [(claim.consumer, claim.type) for claim in world.store.claims()[0]] == [("migration-1", "MIGRATION")]
    assert world.prepare("c1", "h1", attempt=2).answer is Answer.PREPARED
    world.check()


def test_move_can_be_reversed(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.store.move(REF, ClaimRef("m1", 1), "MIGRATION")
    assert world.store.move(ClaimRef("m1", 1), REF, "INSTANCE") == ClaimResult("c1", 1, Answer.RELEASED)
    assert world.store.move(ClaimRef("m1", 1), ClaimRef("c1", 2), "INSTANCE").answer is Answer.CONFIRMED
    assert world.states() == {"c1": "confirmed"}
    world.check()


def test_impossible_moves_are_refused(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.hold("c2", "h1")
    assert world.store.move(REF, ClaimRef("m1", 1), "MIGRATION") == ClaimResult("c1", 1, Answer.PREPARED, "h1")
    assert world.store.move(ClaimRef("cx", 1), ClaimRef("m2", 1), "MIGRATION") == ClaimResult("cx", 1, Answer.UNKNOWN)
    world.store.confirm("h1", [REF])
    assert world.store.move(REF, ClaimRef("c2", 2), "MIGRATION") == ClaimResult("c2", 2, Answer.CONFLICT, "h1")
    assert world.states() == {"c1": "confirmed", "c2": "confirmed"}


def test_refused_move_stays_refused_when_repeated(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.store.move(REF, ClaimRef("m1", 1), "MIGRATION")
    world.store.confirm("h1", [REF])
    assert world.store.move(REF, ClaimRef("m1", 1), "MIGRATION") == ClaimResult("m1", 1, Answer.ABORTED)
    assert world.states() == {"c1": "confirmed"}
    assert world.store.move(REF, ClaimRef("m1", 2), "MIGRATION").answer is Answer.CONFIRMED


def test_move_to_an_ended_attempt_returns_its_end(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    to = ClaimRef("m1", 1)
    world.store.move(REF, to, "MIGRATION")
    world.store.release("h1", [to])
    assert world.store.move(REF, to, "MIGRATION") == ClaimResult("m1", 1, Answer.RELEASED)


def test_move_of_a_possibly_forgotten_claim_is_closed_until_audit(world: World) -> None:
    world.add_host("h1")
    mark = world.mark()
    ref = world.hold("c1", "h1")
    world.forget_since(mark)
    to = ClaimRef("m1", 1)
    assert world.store.move(ref, to, "MIGRATION") == ClaimResult("c1", 1, Answer.CLOSED)
    epoch = world.store.snapshot().epoch
    world.store.audit("h1", epoch, [running(ref, "h1")], 0)
    assert world.store.move(ref, to, "MIGRATION") == ClaimResult("m1", 1, Answer.CONFIRMED, "h1")


def test_claims_are_listed_by_host_node_consumer_and_page(world: World) -> None:
    world.add_host("h1", "h1/n1", "h1/n2")
    world.add_host("h10")
    for consumer, node in (("c1", "h1/n1"), ("c2", "h1/n2"), ("c3", "h1/n1"), ("c4", "h10")):
        world.prepare(consumer, node)

    def listed_consumers(**filters: Any) -> list[str]:
        return [claim.consumer for claim in world.store.claims(**filters)[0]]

    assert listed_consumers() == ["c1", "c3", "c2", "c4"]
    assert listed_consumers(host="h1") == ["c1", "c3", "c2"]
    assert listed_consumers(host="h1/n1") == ["c1", "c3"]
    assert listed_consumers(consumer="c2") == ["c2"] and listed_consumers(consumer="cx") == []
    assert listed_consumers(consumer="c2", host="h10") == []
    consumers: list[str] = []
    marker = None
    for _ in range(3):
        page, marker = world.store.claims(host="h1", marker=marker, limit=1)
        consumers += [claim.consumer for claim in page]
    assert (consumers, marker) == (["c1", "c3", "c2"], None)


def test_listed_claim_has_all_fields(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    prepared = world.prepare("c1", "h1", "h2", request_id="req-9")
    claim = world.store.claims()[0][0]
    assert (claim.consumer, claim.attempt, claim.generation, claim.type) == ("c1", 1, 1, "INSTANCE")
    assert (claim.project, claim.user, claim.request_id) == ("p", "u", "req-9")
    assert (claim.host, claim.allocations, claim.alternates) == ("h1", {"h1": SMALL}, ("h2",))
    assert claim.deadline_ms == prepared.deadline_ms and claim.group is None


def test_reap_drops_expired_claims_and_tombstones(world: World) -> None:
    world.add_host("h1")
    world.pass_deadline(world.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert world.store.reap(dead_after_ms=60_000, tombstone_ms=60_000) == 1
    assert world.used("h1") == {}
    assert world.prepare("c1", "h1").answer is Answer.ENDED
    now = world.time()
    world.wait_until(now + 2)
    assert world.store.reap(dead_after_ms=60_000, tombstone_ms=1) == 0
    assert world.prepare("c1", "h1").answer is Answer.PREPARED
