# SPDX-License-Identifier: Apache-2.0
"""Pins: the partition that serves a request or a server group."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.store.records import GroupMembership, RunningClaim
from tests.support.store.store_partition import LONG_MS, SHORT_MS, SMALL, StorePartition

GROUP = ClaimGroup("g", GroupPolicy.AFFINITY)


def test_first_pin_is_recorded(partition: StorePartition) -> None:
    assert partition.store.pin("request:r1", "a", LONG_MS) == "a"
    assert partition.store.pin("request:r1", "b", LONG_MS) == "a"
    assert partition.store.pin("request:r2", "b", LONG_MS) == "b"


def test_only_the_named_partition_is_replaced(partition: StorePartition) -> None:
    partition.store.pin("k", "a", LONG_MS)
    assert partition.store.pin("k", "c", LONG_MS, instead_of="b") == "a"
    assert partition.store.pin("k", "b", LONG_MS, instead_of="a") == "b"
    # Two callers that partition a refused replace it concurrently: the second gets the first one's choice.
    assert partition.store.pin("k", "c", LONG_MS, instead_of="a") == "b"


def test_expired_pin_is_reaped(partition: StorePartition) -> None:
    partition.store.pin("k", "a", SHORT_MS)
    partition.store.pin("other", "a", LONG_MS)
    partition.wait_until(partition.time() + SHORT_MS)
    partition.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    assert partition.store.pin("other", "b", LONG_MS) == "a"
    assert partition.store.pin("k", "b", LONG_MS) == "b"


def test_expired_pin_is_replaced_before_reaping(partition: StorePartition) -> None:
    partition.store.pin("k", "a", SHORT_MS)
    partition.wait_until(partition.time() + SHORT_MS)
    assert partition.store.pin("k", "b", LONG_MS) == "b"
    assert partition.store.pin("k", "c", LONG_MS) == "b"


def test_repeated_call_renews_a_pin(partition: StorePartition) -> None:
    began = partition.time()
    partition.store.pin("k", "a", SHORT_MS)
    partition.store.pin("k", "a", LONG_MS)
    partition.wait_until(began + 2 * SHORT_MS)
    assert partition.store.pin("k", "b", LONG_MS) == "a"


def test_pin_is_not_logged(partition: StorePartition) -> None:
    position = partition.store.snapshot().position
    partition.store.pin("k", "a", LONG_MS)
    assert partition.store.snapshot().position == position


def test_first_home_of_a_group_is_recorded(partition: StorePartition) -> None:
    home = partition.store.group_home("g", "a", LONG_MS)
    assert home.partition == "a"
    assert partition.store.group_home("g", "b", LONG_MS) == home


def test_unused_home_expires(partition: StorePartition) -> None:
    home = partition.store.group_home("g", "a", SHORT_MS)
    partition.wait_until(partition.time() + SHORT_MS)
    later = partition.store.group_home("g", "b", LONG_MS)
    assert (later.partition, later.generation > home.generation) == ("b", True)


def test_home_is_replaced_by_generation_and_generations_grow(partition: StorePartition) -> None:
    first = partition.store.group_home("g", "a", LONG_MS)
    second = partition.store.group_home("g", "b", LONG_MS, first.generation)
    assert (second.partition, second.generation > first.generation) == ("b", True)
    # Another worker that was refused by a as well gets the choice that was made meanwhile.
    assert partition.store.group_home("g", "c", LONG_MS, first.generation) == second


def test_home_of_an_earlier_epoch_gets_a_later_generation_than_any_forgotten_one(partition: StorePartition) -> None:
    first = partition.store.group_home("g", "a", LONG_MS)
    before = partition.mark()
    forgotten = partition.store.group_home("g", "b", LONG_MS, first.generation)
    partition.forget_since(before)
    renewed = partition.store.group_home("g", "c", LONG_MS)
    assert (renewed.partition, renewed.generation > forgotten.generation) == ("a", True)
    assert partition.store.group_home("g", "c", LONG_MS) == renewed


def test_group_with_members_is_not_left(partition: StorePartition) -> None:
    partition.add_host("h1")
    home = partition.store.group_home("g", "a", LONG_MS)
    partition.prepare("m1", "h1", group=GROUP, group_generation=home.generation)
    assert partition.store.leave_group("g", home.generation, LONG_MS) == GroupMembership(1, False)
    assert partition.prepare("m2", "h1", group=GROUP, group_generation=home.generation).host == "h1"


def test_member_past_its_deadline_does_not_keep_a_group(partition: StorePartition) -> None:
    partition.add_host("h1")
    prepared = partition.prepare("m1", "h1", group=GROUP, ttl_ms=SHORT_MS)
    partition.pass_deadline(prepared)
    assert partition.store.leave_group("g", "1", LONG_MS).members == 0


def test_claim_of_a_left_generation_is_refused_and_of_a_later_one_not(partition: StorePartition) -> None:
    partition.add_host("h1")
    first = partition.store.group_home("g", "a", LONG_MS)
    assert partition.store.leave_group("g", first.generation, LONG_MS) == GroupMembership(0, False)
    refused = partition.prepare("m1", "h1", group=GROUP, group_generation=first.generation)
    assert tuple(refused.verdicts) == (Verdict.GROUP,)
    assert partition.prepare("alternate", "h1", group=GROUP).answer is Answer.REFUSED
    later = partition.store.group_home("g", "a", LONG_MS, first.generation)
    assert partition.prepare("m1", "h1", group=GROUP, group_generation=later.generation).host == "h1"
    assert partition.prepare("alternate", "h1", group=GROUP).host == "h1"
    partition.check()


def test_leaving_with_an_older_generation_does_not_reopen_a_partition(partition: StorePartition) -> None:
    partition.add_host("h1")
    first = partition.store.group_home("g", "a", LONG_MS)
    second = partition.store.group_home("g", "b", LONG_MS, first.generation)
    partition.store.leave_group("g", second.generation, LONG_MS)
    partition.store.leave_group("g", first.generation, LONG_MS)
    assert partition.prepare("m1", "h1", group=GROUP, group_generation=second.generation).host is None


def test_leaving_says_that_members_may_be_forgotten(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.new_epoch()
    assert partition.store.leave_group("g", "1", LONG_MS) == GroupMembership(0, True)


def test_group_that_leaves_only_if_certain_stays_where_members_may_be_forgotten(partition: StorePartition) -> None:
    partition.add_host("h1")
    home = partition.store.group_home("g", "a", LONG_MS)
    epoch = partition.new_epoch()
    answer = partition.store.leave_group("g", home.generation, LONG_MS, only_if_certain=True)
    assert answer == GroupMembership(0, True)
    partition.store.audit("h1", epoch, [], 0)
    assert partition.prepare("m1", "h1", group=GROUP, group_generation=home.generation).host == "h1"
    partition.store.abort([ClaimRef("m1", 1)])
    answer = partition.store.leave_group("g", home.generation, LONG_MS, only_if_certain=True)
    assert answer == GroupMembership(0, False)
    assert partition.prepare("m2", "h1", group=GROUP, group_generation=home.generation).host is None


@pytest.mark.parametrize("ttl_ms", [0, -1, 2 * 24 * 3600 * 1000])
def test_lifetime_of_a_home_is_bounded(partition: StorePartition, ttl_ms: int) -> None:
    with pytest.raises(errors.InvalidRequest):
        partition.store.group_home("g", "a", ttl_ms)


def test_group_that_left_and_returned_has_alternates_until_it_leaves_again(partition: StorePartition) -> None:
    # Given a group that left the partition, and returned with one member
    for host in ("h1", "h2"):
        partition.add_host(host)
    first = partition.store.group_home("g", "a", LONG_MS)
    partition.store.leave_group("g", first.generation, LONG_MS)
    later = partition.store.group_home("g", "a", LONG_MS, first.generation)
    assert partition.prepare("m1", "h1", group=GROUP, group_generation=later.generation).host == "h1"
    # When its attempt ends, then its alternate is taken, though there is no other member
    partition.store.abort([ClaimRef("m1", 1)])
    assert partition.prepare("m1", "h2", attempt=2, replaces=1, group=GROUP).host == "h2"
    # And claims decided before it left are still refused
    assert partition.prepare("m2", "h2", group=GROUP, group_generation=first.generation).host is None
    # When it leaves again, then alternates are refused, also after a late repetition of the first leaving
    partition.store.abort([ClaimRef("m1", 2)])
    assert partition.store.leave_group("g", first.generation, LONG_MS) == GroupMembership(0, False)
    assert partition.prepare("m1", "h1", attempt=3, replaces=2, group=GROUP).answer is Answer.REFUSED
    for generation in (later.generation, first.generation):
        assert partition.store.leave_group("g", generation, LONG_MS) == GroupMembership(0, False)
        assert partition.prepare("m1", "h1", attempt=3, replaces=2, group=GROUP).answer is Answer.REFUSED
        assert partition.prepare("m2", "h1", group=GROUP, group_generation=later.generation).host is None


def test_group_whose_member_an_audit_claims_again_has_alternates_while_it_has_members(
    partition: StorePartition,
) -> None:
    # Given a group that left the partition, and a member there that the store had forgotten
    for host in ("h1", "h2"):
        partition.add_host(host)
    home = partition.store.group_home("g", "a", LONG_MS)
    partition.store.leave_group("g", home.generation, LONG_MS)
    epoch = partition.new_epoch()
    member = RunningClaim("m1", 1, True, "h1", {"h1": SMALL}, "INSTANCE", "p", "u", "r", GROUP)
    partition.store.audit("h1", epoch, [member], 0)
    partition.store.audit("h2", epoch, [], 0)
    # When another member gets an alternate beside it
    assert partition.prepare("m2", "h1", attempt=2, group=GROUP).host == "h1"
    # Then the group has not returned: without members its alternates are refused
    partition.store.abort([ClaimRef("m2", 2)])
    partition.store.release("h1", [ClaimRef("m1", 1)])
    assert partition.prepare("m3", "h1", group=GROUP).answer is Answer.REFUSED
    partition.check()


def test_refused_claim_of_a_later_generation_does_not_return_a_group(partition: StorePartition) -> None:
    partition.add_host("h1")
    first = partition.store.group_home("g", "a", LONG_MS)
    partition.store.leave_group("g", first.generation, LONG_MS)
    later = partition.store.group_home("g", "a", LONG_MS, first.generation)
    refused = partition.prepare("m1", "h9", group=GROUP, group_generation=later.generation)
    assert refused.answer is Answer.REFUSED
    assert partition.prepare("m1", "h1", attempt=2, group=GROUP).answer is Answer.REFUSED
