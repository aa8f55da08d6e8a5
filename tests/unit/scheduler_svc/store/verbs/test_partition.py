# SPDX-License-Identifier: Apache-2.0
"""The steps that verbs are composed of: sums, indexes, epochs, tombstones and excess."""

from dataclasses import replace

import pytest

from rpcapi.resources.claims import ClaimState, GroupPolicy
from scheduler_svc.core.records import Claim, ClaimGroup, ClaimRef
from scheduler_svc.store.memory.partition import MemoryPartition
from scheduler_svc.store.tombstones import UNKNOWN_END
from scheduler_svc.store.verbs.contents import UNNAMED_HOSTS
from scheduler_svc.store.verbs.partition import POSITION_LEAP

NOW = 1000
GROUP = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY)
FOREIGN = {"claims": 1, "foreign_claims": 1}  # counts of a claim on another service host
PREPARED = Claim(
    "c1", 1, 1, "INSTANCE", "p", "u", "prepared", "h1/n1", {"h1/n1": {"VCPU": 2}, "pool/1": {"DISK_GB": 5}}, "req-1", 0
)
PREPARED = replace(PREPARED, deadline_ms=NOW, group=GROUP)


@pytest.fixture
def partition() -> MemoryPartition:
    """An empty partition in its first epoch, in which h1 is open."""
    partition = MemoryPartition(100)
    partition.begin_epoch(NOW)
    partition.opened["h1"] = partition.epoch
    return partition


def test_ended_claim_leaves_no_sums_and_indexes(partition: MemoryPartition) -> None:
    partition.add_claim(PREPARED)
    assert partition.used == {"h1/n1": {"VCPU": 2, "claims": 1}, "pool/1": {"DISK_GB": 5, **FOREIGN}}
    assert (partition.groups, partition.deadlines) == ({"g1": {"h1/n1": 1}}, {"c1": NOW})
    partition.end_claim(PREPARED, ClaimState.ABORTED, NOW)
    assert partition.used == {
        "h1/n1": {"VCPU": 0, "claims": 0},
        "pool/1": {"DISK_GB": 0, **dict.fromkeys(FOREIGN, 0)},
    }
    assert (partition.claims, partition.groups, partition.deadlines) == ({}, {}, {})
    assert partition.end_of(ClaimRef("c1", 1)) == "aborted"


def test_sums_are_logged_once_for_all_changes_of_a_verb(partition: MemoryPartition) -> None:
    partition.providers["h1/n1"] = {}
    position = partition.position
    partition.add_claim(PREPARED)
    partition.add_claim(replace(PREPARED, consumer="c2", group=None))
    partition.flush(NOW)
    partition.flush(NOW)
    (entry,) = partition.entries(position, 10)
    assert entry == (
        position + 1,
        "used",
        {"h1/n1": {"VCPU": 4, "claims": 2}, "pool/1": {"DISK_GB": 10, **dict.fromkeys(FOREIGN, 2)}},
    )
    assert partition.changed["h1/n1"] == entry.position


def test_idle_sums_of_a_removed_provider_are_dropped(partition: MemoryPartition) -> None:
    partition.providers["h1/n1"] = {}
    partition.add_claim(PREPARED)
    partition.end_claim(PREPARED, ClaimState.ABORTED, NOW)
    partition.flush(NOW)
    # The pool has no document: it was removed.
    assert (partition.used, set(partition.changed)) == ({"h1/n1": {"VCPU": 0, "claims": 0}}, {"h1/n1"})


@pytest.mark.parametrize(
    ("source_attempt", "ends"),
    [
        (None, ["aborted", "aborted", "aborted", "released", None]),
        (3, ["aborted", "aborted", None, "released", None]),
        (1, [None, "aborted", None, "released", None]),
    ],
    ids=["only claim", "destination", "destination of an earlier source"],
)
def test_end_of_a_claim_proves_that_attempts_before_its_source_have_ended(
    partition: MemoryPartition, source_attempt: int | None, ends: list[str | None]
) -> None:
    claim = replace(PREPARED, attempt=4, migration=source_attempt and "m1", source_attempt=source_attempt)
    partition.add_claim(claim)
    partition.add_tombstone(ClaimRef("c1", 2), ClaimState.ABORTED, NOW)
    partition.end_claim(claim, ClaimState.RELEASED, NOW)
    assert [partition.end_of(ClaimRef("c1", attempt)) for attempt in range(1, 6)] == ends


def test_end_of_an_attempt_without_a_claim_proves_nothing_of_earlier_ones(partition: MemoryPartition) -> None:
    partition.add_tombstone(ClaimRef("c1", 3), UNKNOWN_END, NOW)
    assert [partition.end_of(ClaimRef("c1", attempt)) for attempt in (2, 3, 4)] == [None, UNKNOWN_END, None]


def test_expired_claim_ends_on_an_open_host(partition: MemoryPartition) -> None:
    partition.add_claim(PREPARED)
    assert partition.expire(NOW - 1, 10).ended == 0
    assert partition.expire(NOW, 10).ended == 1
    assert (partition.claims, partition.end_of(ClaimRef("c1", 1))) == ({}, "expired")


def test_expired_claim_is_parked_on_a_host_that_must_audit(partition: MemoryPartition) -> None:
    partition.add_claim(PREPARED)
    partition.begin_epoch(NOW)
    assert partition.expire(NOW, 10).ended == 0
    assert (set(partition.claims), partition.deadlines) == ({"c1"}, {})
    # The audit opens the host, and the claim ends when it is next read.
    partition.opened["h1"] = partition.epoch
    assert partition.live_claim("c1", NOW) is None


def test_limited_expiry_ends_the_oldest_claims_first(partition: MemoryPartition) -> None:
    for number in (3, 1, 2):
        partition.add_claim(replace(PREPARED, consumer=f"c{number}", deadline_ms=NOW + number))
    assert partition.expire(NOW + 10, 2).ended == 2
    assert set(partition.claims) == {"c3"}


def test_confirmed_claim_never_expires(partition: MemoryPartition) -> None:
    partition.add_claim(PREPARED)
    partition.confirm(PREPARED)
    confirmed = partition.live_claim("c1", NOW + 10**9)
    assert confirmed is not None
    assert (confirmed.state, confirmed.generation, confirmed.deadline_ms) == ("confirmed", 2, None)
    assert partition.expire(NOW + 10**9, 10).ended == 0


@pytest.mark.parametrize(("step_ms", "counted_ms"), [(0, 0), (7, 7), (10, 10), (11, 10), (10**9, 10), (-(10**9), 0)])
def test_time_advances_by_the_limited_step_of_the_clock(
    partition: MemoryPartition, step_ms: int, counted_ms: int
) -> None:
    assert partition.lead_ms == 0
    assert partition.advance(5000, 10) == 5000
    assert partition.advance(5000 + step_ms, 10) == 5000 + counted_ms
    assert partition.lead_ms == step_ms - counted_ms
    # and it goes on from there at once
    assert partition.advance(5003 + step_ms, 10) == 5003 + counted_ms


def test_epoch_grows_even_if_the_clock_does_not(partition: MemoryPartition) -> None:
    before, position = partition.epoch, partition.position
    partition.begin_epoch(NOW - 500)
    assert partition.epoch == before + 1
    assert partition.position == position + POSITION_LEAP + 1
    assert not partition.is_open("h1/n1")


def test_store_may_have_forgotten_attempts_only_while_a_host_is_awaited(partition: MemoryPartition) -> None:
    assert not partition.may_have_forgotten()
    partition.begin_epoch(NOW)
    partition.stop_awaiting(UNNAMED_HOSTS)
    assert partition.may_have_forgotten()
    partition.stop_awaiting("h1")
    assert not partition.may_have_forgotten()


def test_claim_is_reported_once_its_host_has_audited(partition: MemoryPartition) -> None:
    confirmed = replace(PREPARED, state=ClaimState.CONFIRMED)
    assert partition.is_reported(confirmed)
    assert not partition.is_reported(PREPARED)
    assert not partition.is_reported(replace(confirmed, orphan_ms=NOW))
    partition.begin_epoch(NOW)
    assert not partition.is_reported(confirmed)


def test_excess_is_flagged_only_on_request_and_cleared_at_once(partition: MemoryPartition) -> None:
    partition.capacity["h1/n1"] = {"VCPU": 1}
    partition.add_claim(PREPARED)
    partition.update_excess("h1/n1", NOW, flag=False)
    assert partition.excess == {}
    partition.update_excess("h1/n1", NOW, flag=True)
    partition.update_excess("h1/n1", NOW + 5, flag=True)
    assert partition.excess == {"h1/n1": {"VCPU": NOW}}, "the flag keeps its first time"
    partition.capacity["h1/n1"] = {"VCPU": [2, 1, 2, 1]}
    partition.update_excess("h1/n1", NOW, flag=False)
    assert partition.excess == {}
