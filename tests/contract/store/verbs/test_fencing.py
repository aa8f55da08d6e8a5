# SPDX-License-Identifier: Apache-2.0
"""Fencing: an operator declares that nothing runs on a host, which is then no longer awaited."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from tests.support.store.store_partition import LONG_MS, SHORT_MS, SMALL, StorePartition, running

REF = ClaimRef("c1", 1)


def audit(partition: StorePartition, host: str, *claims):
    return partition.store.audit(host, partition.store.snapshot().epoch, claims, LONG_MS)


def test_fence_releases_exactly_the_claims_of_the_host(partition: StorePartition) -> None:
    # Given claims on two nodes of a host, confirmed and not, in a group, and one on a host with the same name prefix
    partition.add_host("h1", "h1/n1", "h1/n2")
    partition.add_host("h1x")
    partition.hold("c1", "h1/n1", group=ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY))
    partition.prepare("c2", "h1/n2")
    partition.hold("c3", "h1x")
    before = partition.store.snapshot().position
    # When the host is fenced
    assert partition.fence("h1") == 2
    # Then its claims have ended, sums and group counts are updated, and the log has the changes
    assert partition.states() == {"c3": "confirmed"}
    assert partition.used("h1/n1") == partition.used("h1/n2") == {} and partition.used("h1x") == SMALL
    assert partition.store.group_hosts("g1") == {}
    assert [result.answer for result in partition.store.abort([REF, ClaimRef("c2", 1)])] == [Answer.FENCED] * 2
    payloads = {entry.kind: entry.payload for entry in partition.store.follow(before, 0) or ()}
    assert {name for name, sums in payloads["used"].items() if not any(sums.values())} == {"h1/n1", "h1/n2"}
    assert payloads["opened"] == {"h1": 0}
    partition.check()


def test_repeated_fence_changes_nothing(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.fence("h1")
    before = partition.store.snapshot()
    assert partition.fence("h1") == 0
    assert partition.store.snapshot() == before


def test_fence_of_an_unknown_host_is_rejected(partition: StorePartition) -> None:
    partition.add_host("h1")
    before = partition.store.snapshot()
    with pytest.raises(errors.UnknownHost, match="'h9'"):
        partition.fence("h9")
    with pytest.raises(errors.InvalidName):
        partition.fence("h1/n1")
    with pytest.raises(errors.InvalidName):
        partition.store.fence("h1", "a token", force=True)
    assert partition.store.snapshot() == before


def test_late_duplicate_of_a_fence_ends_no_newer_claim(partition: StorePartition) -> None:
    # Given a fenced host that has returned and holds a new claim
    partition.add_host("h1")
    partition.hold("c1", "h1")
    assert partition.store.fence("h1", "token-1", force=True) == 1
    audit(partition, "h1")
    partition.hold("c2", "h1")
    before = partition.store.snapshot()
    # When a duplicate of the fence arrives late
    assert partition.store.fence("h1", "token-1", force=True) == 1
    # Then nothing changed, and another fence ends the new claim
    assert partition.store.snapshot() == before and partition.states() == {"c2": "confirmed"}
    assert partition.store.fence("h1", "token-2", force=True) == 1
    assert partition.states() == {}


def test_one_token_names_a_fence_of_each_host(partition: StorePartition) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    partition.hold("c2", "h2")
    assert partition.store.fence("h1", "token-1", force=True) == 0
    assert partition.store.fence("h2", "token-1", force=True) == 1


def test_token_is_kept_as_long_as_tombstones(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.store.fence("h1", "token-1", force=True)
    partition.store.reap(dead_after_ms=None, tombstone_ms=LONG_MS)
    assert partition.store.fence("h1", "token-1", force=True) == 1
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=SHORT_MS)
    assert partition.store.fence("h1", "token-1", force=True) == 0


def test_host_that_is_up_is_fenced_only_by_force(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    before = partition.store.snapshot()
    with pytest.raises(errors.HostIsUp, match=r"'h1' is up.*--force"):
        partition.store.fence("h1", "token-1")
    assert partition.store.snapshot() == before and partition.states() == {"c1": "confirmed"}
    # The refusal is not recorded: once the host counts as down, the same call fences it
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=SHORT_MS, tombstone_ms=LONG_MS)
    assert partition.store.fence("h1", "token-1") == 1


def test_fenced_host_is_no_longer_awaited(partition: StorePartition) -> None:
    # Given a host that does not come back after an epoch change, and an attempt that it may run
    partition.add_host("h1")
    partition.add_host("dead")
    partition.hold("c2", "dead")
    partition.new_epoch()
    audit(partition, "h1")
    assert partition.store.abort([REF])[0].answer is Answer.CLOSED
    assert list(partition.store.verify().awaited) == ["dead"]
    # When it is fenced
    assert partition.fence("dead") == 1
    # Then unknown attempts can be ended, in this epoch and, once the host counts as down, in the next
    assert list(partition.store.verify().awaited) == []
    assert partition.store.abort([REF])[0].answer is Answer.UNKNOWN
    assert partition.prepare("c2", "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=SHORT_MS, tombstone_ms=600_000)
    partition.new_epoch()
    assert list(partition.store.verify().awaited) == ["h1"]


def test_alive_host_with_forgotten_opening_is_awaited(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.fence("h1")
    mark = partition.mark()
    audit(partition, "h1")
    ref = partition.hold("c1", "h1")
    partition.forget_since(mark)
    assert list(partition.store.verify().awaited) == ["h1"]
    assert partition.store.abort([ref])[0].answer is Answer.CLOSED
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.CLOSED


def test_returning_agent_learns_ends_and_its_host_opens(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.fence("h1")
    assert tuple(partition.prepare("c3", "h1").verdicts) == (Verdict.CLOSED,)
    outcome = audit(partition, "h1", running(REF, "h1"), running(ClaimRef("c2", 1), "h1"))
    # The fence ended all that the host held, with and without a tombstone
    assert [result.answer for result in outcome.answers] == [Answer.FENCED, Answer.FENCED]
    assert partition.states() == {}
    assert partition.prepare("c3", "h1").answer is Answer.PREPARED
    partition.check()


def test_fenced_host_learns_ends_whose_tombstones_are_gone(partition: StorePartition) -> None:
    # Given a fenced host that stays away for longer than its tombstones are kept
    partition.add_host("h1")
    partition.hold("c1", "h1")
    partition.fence("h1")
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=SHORT_MS)
    # When it returns, then its guest's claim is over
    assert [result.answer for result in audit(partition, "h1", running(REF, "h1")).answers] == [Answer.FENCED]
    assert partition.states() == {} and partition.used("h1") == {}
    # And once it has audited, what it reports without a claim is unverified, as on any open host
    assert [result.answer for result in audit(partition, "h1", running(REF, "h1")).answers] == [Answer.UNVERIFIED]
    partition.check()


def test_fence_expires_claims_past_their_deadline(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.pass_deadline(partition.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert partition.fence("h1") == 0
    assert partition.store.abort([REF])[0].answer is Answer.EXPIRED
    partition.check()


def test_forgotten_fence_leaves_its_claims_and_can_be_repeated(partition: StorePartition) -> None:
    # Given a host that was down and fenced, and a failover that forgot the fence, its tombstones and its token
    partition.add_host("h1")
    partition.add_host("dead")
    ref = partition.hold("c1", "dead")
    before = partition.mark()
    assert partition.store.fence("dead", "token-1", force=True) == 1
    partition.forget_since(before)
    audit(partition, "h1")
    # Then the claim is back and its host is awaited: no other host takes the instance
    assert partition.states() == {"c1": "confirmed"} and list(partition.store.verify().awaited) == ["dead"]
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.CONFIRMED
    # And the same call, or another, fences the host again
    assert partition.store.fence("dead", "token-1", force=True) == 1
    assert partition.store.find([ref])[0].answer is Answer.FENCED
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    partition.check()
