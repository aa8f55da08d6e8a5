# SPDX-License-Identifier: Apache-2.0
"""Confirm, abort, release, move: each answers what stands, however often it is asked."""

from typing import Any

from rpcapi.model.claims import Answer
from scheduler_svc.store.records import ClaimRef, ClaimResult
from tests.unit.scheduler_svc.store.world import SHORT_MS, SMALL, World, intent, running

ONE = ClaimRef("c1", 1)


def answers(found: list[ClaimResult]) -> list[Answer]:
    return [one.answer for one in found]


def test_confirm_and_again(world: World) -> None:
    world.add_host("h1", "h1/n1")
    world.prepare("c1", "h1/n1")
    for _ in range(2):
        assert world.store.confirm("h1", [ONE]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1/n1")]
    assert world.states() == {"c1": "confirmed"}
    assert world.store.claims()[0][0].generation == 2
    world.check()


def test_confirm_of_what_is_not_there(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    world.prepare("c1", "h1")
    assert answers(world.store.confirm("h1", [ClaimRef("c2", 1), ClaimRef("c1", 2)])) == [
        Answer.UNKNOWN,
        Answer.UNKNOWN,
    ]
    assert answers(world.store.confirm("h2", [ONE])) == [Answer.FOREIGN]
    assert world.states() == {"c1": "prepared"}


def test_confirm_after_the_deadline(world: World) -> None:
    world.add_host("h1")
    world.pass_deadline(world.prepare("c1", "h1", ttl_ms=SHORT_MS))
    for _ in range(2):
        assert answers(world.store.confirm("h1", [ONE])) == [Answer.EXPIRED]
    assert world.used("h1") == {}
    world.check()


def test_confirmed_claim_has_no_deadline(world: World) -> None:
    world.add_host("h1")
    # Long enough for the confirm to come in time on a busy machine
    prepared = world.prepare("c1", "h1", ttl_ms=20 * SHORT_MS)
    assert answers(world.store.confirm("h1", [ONE])) == [Answer.CONFIRMED]
    world.pass_deadline(prepared)
    world.store.reap(dead_after_ms=60_000, tombstone_ms=60_000)
    assert world.states() == {"c1": "confirmed"}


def test_abort_and_again(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    for _ in range(2):
        assert answers(world.store.abort([ONE])) == [Answer.ABORTED]
    assert answers(world.store.confirm("h1", [ONE])) == [Answer.ABORTED]
    assert world.used("h1") == {}
    world.check()


def test_abort_loses_to_a_confirm(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    assert world.store.abort([ONE]) == [ClaimResult("c1", 1, Answer.CONFIRMED, "h1")]
    assert world.states() == {"c1": "confirmed"}


def test_abort_by_another_host(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    assert answers(world.store.abort([ONE], host="h2")) == [Answer.FOREIGN]
    assert answers(world.store.abort([ONE], host="h1")) == [Answer.ABORTED]


def test_abort_of_an_unknown_claim_is_remembered(world: World) -> None:
    world.add_host("h1")
    delayed = world.batch(intent("c1", "h1"))
    for _ in range(2):
        assert answers(world.store.abort([ONE])) == [Answer.UNKNOWN]
    assert world.store.prepare(delayed).prepared[0].answer is Answer.ENDED
    assert answers(world.store.confirm("h1", [ONE])) == [Answer.UNKNOWN]


def test_release_and_again(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    assert answers(world.store.release("h2", [ONE])) == [Answer.FOREIGN]
    for _ in range(2):
        assert answers(world.store.release("h1", [ONE])) == [Answer.RELEASED]
    assert world.used("h1") == {}
    assert answers(world.store.confirm("h1", [ONE])) == [Answer.RELEASED]
    world.check()


def test_release_of_a_prepared_claim(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    assert answers(world.store.release("h1", [ONE])) == [Answer.RELEASED]
    world.check()


def test_release_of_what_never_was(world: World) -> None:
    world.add_host("h1")
    delayed = world.batch(intent("c1", "h1"))
    for _ in range(2):
        assert answers(world.store.release("h1", [ONE])) == [Answer.RELEASED]
    assert world.store.prepare(delayed).prepared[0].answer is Answer.ENDED


def test_release_tells_a_former_end(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.store.abort([ONE])
    assert answers(world.store.release("h1", [ONE])) == [Answer.ABORTED]


def test_each_claim_is_answered_by_itself(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.prepare("c2", "h1")
    got = world.store.confirm("h1", [ONE, ClaimRef("cx", 1), ClaimRef("c2", 1)])
    assert answers(got) == [Answer.CONFIRMED, Answer.UNKNOWN, Answer.CONFIRMED]


def test_move_keeps_the_sums(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    to = ClaimRef("migration-1", 1)
    for _ in range(2):
        assert world.store.move(ONE, to, "MIGRATION") == ClaimResult("migration-1", 1, Answer.CONFIRMED, "h1")
    assert world.used("h1") == SMALL
    assert [(claim.consumer, claim.type) for claim in world.store.claims()[0]] == [("migration-1", "MIGRATION")]
    assert world.prepare("c1", "h1", attempt=2).answer is Answer.PREPARED
    world.check()


def test_move_and_back(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.store.move(ONE, ClaimRef("m1", 1), "MIGRATION")
    assert world.store.move(ClaimRef("m1", 1), ONE, "INSTANCE") == ClaimResult("c1", 1, Answer.RELEASED)
    assert world.store.move(ClaimRef("m1", 1), ClaimRef("c1", 2), "INSTANCE").answer is Answer.CONFIRMED
    assert world.states() == {"c1": "confirmed"}
    world.check()


def test_move_that_cannot_be(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.hold("c2", "h1")
    assert world.store.move(ONE, ClaimRef("m1", 1), "MIGRATION") == ClaimResult("c1", 1, Answer.PREPARED, "h1")
    assert world.store.move(ClaimRef("cx", 1), ClaimRef("m2", 1), "MIGRATION") == ClaimResult("cx", 1, Answer.UNKNOWN)
    world.store.confirm("h1", [ONE])
    assert world.store.move(ONE, ClaimRef("c2", 2), "MIGRATION") == ClaimResult("c2", 2, Answer.CONFLICT, "h1")
    assert world.states() == {"c1": "confirmed", "c2": "confirmed"}


def test_a_move_that_was_refused_is_not_made_by_its_message_repeated(world: World) -> None:
    world.add_host("h1")
    world.prepare("c1", "h1")
    world.store.move(ONE, ClaimRef("m1", 1), "MIGRATION")
    world.store.confirm("h1", [ONE])
    assert world.store.move(ONE, ClaimRef("m1", 1), "MIGRATION") == ClaimResult("m1", 1, Answer.ABORTED)
    assert world.states() == {"c1": "confirmed"}
    assert world.store.move(ONE, ClaimRef("m1", 2), "MIGRATION").answer is Answer.CONFIRMED


def test_a_move_that_ended_is_answered_by_its_end(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    to = ClaimRef("m1", 1)
    world.store.move(ONE, to, "MIGRATION")
    world.store.release("h1", [to])
    assert world.store.move(ONE, to, "MIGRATION") == ClaimResult("m1", 1, Answer.RELEASED)


def test_a_move_of_what_may_be_forgotten_waits_for_the_audit(world: World) -> None:
    world.add_host("h1")
    mark = world.mark()
    held = world.hold("c1", "h1")
    world.forget_since(mark)
    to = ClaimRef("m1", 1)
    assert world.store.move(held, to, "MIGRATION") == ClaimResult("c1", 1, Answer.CLOSED)
    epoch = world.store.snapshot().epoch
    world.store.audit("h1", epoch, [running(held, "h1")], 0)
    assert world.store.move(held, to, "MIGRATION") == ClaimResult("m1", 1, Answer.CONFIRMED, "h1")


def test_claims_by_host_node_consumer_and_page(world: World) -> None:
    world.add_host("h1", "h1/n1", "h1/n2")
    world.add_host("h10")
    for consumer, node in (("c1", "h1/n1"), ("c2", "h1/n2"), ("c3", "h1/n1"), ("c4", "h10")):
        world.prepare(consumer, node)

    def found(**wanted: Any) -> list[str]:
        return [claim.consumer for claim in world.store.claims(**wanted)[0]]

    assert found() == ["c1", "c3", "c2", "c4"]
    assert found(host="h1") == ["c1", "c3", "c2"]
    assert found(host="h1/n1") == ["c1", "c3"]
    assert found(consumer="c2") == ["c2"] and found(consumer="cx") == []
    assert found(consumer="c2", host="h10") == []
    seen: list[str] = []
    marker = None
    for _ in range(3):
        page, marker = world.store.claims(host="h1", marker=marker, limit=1)
        seen += [claim.consumer for claim in page]
    assert (seen, marker) == (["c1", "c3", "c2"], None)


def test_listed_claim_tells_all(world: World) -> None:
    world.add_host("h1")
    world.add_host("h2")
    prepared = world.prepare("c1", "h1", "h2", request_id="req-9")
    claim = world.store.claims()[0][0]
    assert (claim.consumer, claim.attempt, claim.generation, claim.type) == ("c1", 1, 1, "INSTANCE")
    assert (claim.project, claim.user, claim.request_id) == ("p", "u", "req-9")
    assert (claim.host, claim.allocations, claim.alternates) == ("h1", {"h1": SMALL}, ("h2",))
    assert claim.deadline_ms == prepared.deadline_ms and claim.group is None


def test_reaper_tidies(world: World) -> None:
    world.add_host("h1")
    world.pass_deadline(world.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert world.store.reap(dead_after_ms=60_000, tombstone_ms=60_000) == 1
    assert world.used("h1") == {}
    assert world.prepare("c1", "h1").answer is Answer.ENDED
    now = world.time()
    world.wait_until(now + 2)
    assert world.store.reap(dead_after_ms=60_000, tombstone_ms=1) == 0
    assert world.prepare("c1", "h1").answer is Answer.PREPARED
