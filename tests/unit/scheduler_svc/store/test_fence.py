# SPDX-License-Identifier: Apache-2.0
"""Fencing: an operator knows that nothing runs on a host, so that nobody waits for it any longer."""

import pytest

from rpcapi import errors
from rpcapi.model.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.store.records import ClaimGroup, ClaimRef
from tests.unit.scheduler_svc.store.world import LONG_MS, SHORT_MS, SMALL, World, running

ONE = ClaimRef("c1", 1)


def audit(world: World, host: str, *claims):
    return world.store.audit(host, world.store.snapshot().epoch, claims, LONG_MS)


def test_fence_ends_all_that_the_host_holds_and_nothing_else(world: World) -> None:
    # Given claims on two nodes of a host, confirmed and not, in a group, and one on a host whose name begins alike
    world.add_host("h1", "h1/n1", "h1/n2")
    world.add_host("h1x")
    world.hold("c1", "h1/n1", group=ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY))
    world.prepare("c2", "h1/n2")
    world.hold("c3", "h1x")
    before = world.store.snapshot().position
    # When the host is fenced
    assert world.store.fence("h1") == 2
    # Then its claims are over, sums and group too, and followers are told
    assert world.states() == {"c3": "confirmed"}
    assert world.used("h1/n1") == world.used("h1/n2") == {} and world.used("h1x") == SMALL
    assert world.store.group_hosts("g1") == {}
    assert [one.answer for one in world.store.abort([ONE, ClaimRef("c2", 1)])] == [Answer.RELEASED] * 2
    told = {entry.kind: entry.payload for entry in world.store.follow(before, 0) or ()}
    assert {name for name, sums in told["used"].items() if not any(sums.values())} == {"h1/n1", "h1/n2"}
    assert told["opened"] == {"h1": 0}
    world.check()


def test_fence_again_changes_nothing(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.store.fence("h1")
    before = world.store.snapshot()
    assert world.store.fence("h1") == 0
    assert world.store.snapshot() == before


def test_host_that_nobody_knows_is_refused(world: World) -> None:
    world.add_host("h1")
    before = world.store.snapshot()
    with pytest.raises(errors.UnknownHost, match="'h9'"):
        world.store.fence("h9")
    with pytest.raises(errors.InvalidName):
        world.store.fence("h1/n1")
    assert world.store.snapshot() == before


def test_host_that_never_comes_back_wedges_nobody_once_it_is_fenced(world: World) -> None:
    # Given a host that does not come back after an epoch change, and an attempt that it may run
    world.add_host("h1")
    world.add_host("dead")
    world.hold("c2", "dead")
    world.new_epoch()
    audit(world, "h1")
    assert world.store.abort([ONE])[0].answer is Answer.CLOSED
    assert list(world.store.verify().awaited) == ["dead"]
    # When it is fenced
    assert world.store.fence("dead") == 1
    # Then what it may have run is over, in this epoch and, once it counts as down, the next
    assert list(world.store.verify().awaited) == []
    assert world.store.abort([ONE])[0].answer is Answer.UNKNOWN
    assert world.prepare("c2", "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    world.wait_until(world.time() + SHORT_MS)
    world.store.reap(dead_after_ms=SHORT_MS, tombstone_ms=600_000)
    world.new_epoch()
    assert list(world.store.verify().awaited) == ["h1"]


def test_a_living_host_is_awaited_whose_opening_was_forgotten(world: World) -> None:
    world.add_host("h1")
    world.store.fence("h1")
    mark = world.mark()
    audit(world, "h1")
    held = world.hold("c1", "h1")
    world.forget_since(mark)
    assert list(world.store.verify().awaited) == ["h1"]
    assert world.store.abort([held])[0].answer is Answer.CLOSED
    assert world.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.CLOSED


def test_agent_that_comes_back_is_told_and_its_host_opens(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.store.fence("h1")
    assert tuple(world.prepare("c3", "h1").verdicts) == (Verdict.CLOSED,)
    outcome = audit(world, "h1", running(ONE, "h1"), running(ClaimRef("c2", 1), "h1"))
    # What ended stays ended; of what the store never knew only the agent can tell
    assert [one.answer for one in outcome.answers] == [Answer.RELEASED, Answer.CONFIRMED]
    assert world.states() == {"c2": "confirmed"}
    assert world.prepare("c3", "h1").answer is Answer.PREPARED
    world.check()


def test_claim_past_its_deadline_expired_before_the_host_was_fenced(world: World) -> None:
    world.add_host("h1")
    world.pass_deadline(world.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert world.store.fence("h1") == 0
    assert world.store.abort([ONE])[0].answer is Answer.EXPIRED
    world.check()


def test_large_host_is_fenced_whole(world: World) -> None:
    world.add_host("h1", amounts={"VCPU": 2000, "MEMORY_MB": 200_000})
    audit(world, "h1", *(running(ClaimRef(f"c{n}", 1), "h1") for n in range(1100)))
    assert world.store.fence("h1") == 1100
    assert world.used("h1") == {} and world.states() == {}
    world.check()


def test_a_claim_is_not_moved_to_a_consumer_that_a_host_may_still_run(world: World) -> None:
    # Given a host that may run attempts of m1 which the store forgot, and a claim on another that was audited
    world.add_host("h1")
    world.add_host("away")
    world.hold("c1", "h1")
    running_elsewhere = world.hold("m1", "away")
    world.new_epoch()
    audit(world, "h1", running(ONE, "h1"))
    # When the claim is to be m1's, then nobody knows whether that may be
    assert world.store.move(ONE, ClaimRef("m1", running_elsewhere.attempt + 1), "MIGRATION").answer is Answer.CLOSED
    assert world.states() == {"c1": "confirmed", "m1": "confirmed"}
