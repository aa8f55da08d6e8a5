# SPDX-License-Identifier: Apache-2.0
"""Fencing: an operator declares that nothing runs on a host, which is then no longer awaited."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from tests.unit.scheduler_svc.store.world import LONG_MS, SHORT_MS, SMALL, World, running

REF = ClaimRef("c1", 1)


def audit(world: World, host: str, *claims):
    return world.store.audit(host, world.store.snapshot().epoch, claims, LONG_MS)


def test_fence_releases_exactly_the_claims_of_the_host(world: World) -> None:
    # Given claims on two nodes of a host, confirmed and not, in a group, and one on a host with the same name prefix
    world.add_host("h1", "h1/n1", "h1/n2")
    world.add_host("h1x")
    world.hold("c1", "h1/n1", group=ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY))
    world.prepare("c2", "h1/n2")
    world.hold("c3", "h1x")
    before = world.store.snapshot().position
    # When the host is fenced
    assert world.store.fence("h1") == 2
    # Then its claims have ended, sums and group counts are updated, and the log has the changes
    assert world.states() == {"c3": "confirmed"}
    assert world.used("h1/n1") == world.used("h1/n2") == {} and world.used("h1x") == SMALL
    assert world.store.group_hosts("g1") == {}
    assert [result.answer for result in world.store.abort([REF, ClaimRef("c2", 1)])] == [Answer.RELEASED] * 2
    payloads = {entry.kind: entry.payload for entry in world.store.follow(before, 0) or ()}
    assert {name for name, sums in payloads["used"].items() if not any(sums.values())} == {"h1/n1", "h1/n2"}
    assert payloads["opened"] == {"h1": 0}
    world.check()


def test_repeated_fence_changes_nothing(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.store.fence("h1")
    before = world.store.snapshot()
    assert world.store.fence("h1") == 0
    assert world.store.snapshot() == before


def test_fence_of_an_unknown_host_is_rejected(world: World) -> None:
    world.add_host("h1")
    before = world.store.snapshot()
    with pytest.raises(errors.UnknownHost, match="'h9'"):
        world.store.fence("h9")
    with pytest.raises(errors.InvalidName):
        world.store.fence("h1/n1")
    assert world.store.snapshot() == before


def test_fenced_host_is_no_longer_awaited(world: World) -> None:
    # Given a host that does not come back after an epoch change, and an attempt that it may run
    world.add_host("h1")
    world.add_host("dead")
    world.hold("c2", "dead")
    world.new_epoch()
    audit(world, "h1")
    assert world.store.abort([REF])[0].answer is Answer.CLOSED
    assert list(world.store.verify().awaited) == ["dead"]
    # When it is fenced
    assert world.store.fence("dead") == 1
    # Then unknown attempts can be ended, in this epoch and, once the host counts as down, in the next
    assert list(world.store.verify().awaited) == []
    assert world.store.abort([REF])[0].answer is Answer.UNKNOWN
    assert world.prepare("c2", "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    world.wait_until(world.time() + SHORT_MS)
    world.store.reap(dead_after_ms=SHORT_MS, tombstone_ms=600_000)
    world.new_epoch()
    assert list(world.store.verify().awaited) == ["h1"]


def test_alive_host_with_forgotten_opening_is_awaited(world: World) -> None:
    world.add_host("h1")
    world.store.fence("h1")
    mark = world.mark()
    audit(world, "h1")
    ref = world.hold("c1", "h1")
    world.forget_since(mark)
    assert list(world.store.verify().awaited) == ["h1"]
    assert world.store.abort([ref])[0].answer is Answer.CLOSED
    assert world.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.CLOSED


def test_returning_agent_learns_ends_and_its_host_opens(world: World) -> None:
    world.add_host("h1")
    world.hold("c1", "h1")
    world.store.fence("h1")
    assert tuple(world.prepare("c3", "h1").verdicts) == (Verdict.CLOSED,)
    outcome = audit(world, "h1", running(REF, "h1"), running(ClaimRef("c2", 1), "h1"))
    # Ended claims stay ended; an unknown claim is re-asserted by its agent
    assert [result.answer for result in outcome.answers] == [Answer.RELEASED, Answer.CONFIRMED]
    assert world.states() == {"c2": "confirmed"}
    assert world.prepare("c3", "h1").answer is Answer.PREPARED
    world.check()


def test_fence_expires_claims_past_their_deadline(world: World) -> None:
    world.add_host("h1")
    world.pass_deadline(world.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert world.store.fence("h1") == 0
    assert world.store.abort([REF])[0].answer is Answer.EXPIRED
    world.check()


def test_large_host_is_fenced_completely(world: World) -> None:
    world.add_host("h1", amounts={"VCPU": 2000, "MEMORY_MB": 200_000})
    audit(world, "h1", *(running(ClaimRef(f"c{n}", 1), "h1") for n in range(1100)))
    assert world.store.fence("h1") == 1100
    assert world.used("h1") == {} and world.states() == {}
    world.check()


def test_claim_is_not_moved_to_a_consumer_that_may_still_run(world: World) -> None:
    # Given a host that may run forgotten attempts of m1, and a claim on another, audited host
    world.add_host("h1")
    world.add_host("away")
    world.hold("c1", "h1")
    running_elsewhere = world.hold("m1", "away")
    world.new_epoch()
    audit(world, "h1", running(REF, "h1"))
    # When the claim is moved to m1, then the answer is CLOSED
    assert world.store.move(REF, ClaimRef("m1", running_elsewhere.attempt + 1), "MIGRATION").answer is Answer.CLOSED
    assert world.states() == {"c1": "confirmed", "m1": "confirmed"}
