# SPDX-License-Identifier: Apache-2.0
"""Reads of live claims, and cleanup."""

import time
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, GroupPolicy
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from scheduler_svc.store.validation import MAX_PAGE, MAX_REFS
from tests.support.store.store_partition import LONG_MS, SHORT_MS, SMALL, StorePartition


def test_hosts_of_returns_prepared_and_confirmed_claims(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/n2")
    partition.prepare("c1", "h1/n1")
    partition.hold("c2", "h1/n2")
    assert partition.store.hosts_of(["c1", "c2", "unheard-of"]) == {"c1": "h1/n1", "c2": "h1/n2"}
    assert partition.store.hosts_of([]) == {}


def test_hosts_of_omits_ended_and_expired_claims(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.store.abort([ClaimRef("c1", 1)])
    partition.pass_deadline(partition.prepare("c2", "h1", ttl_ms=SHORT_MS))
    assert partition.store.hosts_of(["c1", "c2"]) == {}
    assert partition.states() == {} and partition.used("h1") == {}


def test_number_of_consumers_is_limited(partition: StorePartition) -> None:
    partition.add_host("h1")
    many = [f"c{n}" for n in range(MAX_REFS)]
    partition.prepare("c7", "h1")
    assert partition.store.hosts_of(many) == {"c7": "h1"}
    with pytest.raises(errors.InvalidRequest, match="at most 1000 consumers"):
        partition.store.hosts_of([*many, "one more"])
    with pytest.raises(errors.InvalidName):
        partition.store.hosts_of([""])


def test_counts_returns_live_claims_by_state(partition: StorePartition) -> None:
    partition.add_host("h1")
    for consumer in ("c1", "c2", "c3", "c4"):
        partition.prepare(consumer, "h1")
    partition.store.confirm("h1", [ClaimRef("c1", 1), ClaimRef("c2", 1)])
    partition.store.release("h1", [ClaimRef("c2", 1)])
    partition.store.abort([ClaimRef("c3", 1)])
    assert partition.store.counts() == {"prepared": 1, "confirmed": 1}


def test_counts_of_an_empty_partition_are_zero(partition: StorePartition) -> None:
    assert partition.store.counts() == {"prepared": 0, "confirmed": 0}


APART = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 2)


def test_group_hosts_returns_live_claims_by_host(partition: StorePartition) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    partition.prepare("c1", "h1", group=APART)
    partition.prepare("c2", "h1", group=APART)
    partition.prepare("c3", "h2", group=APART)
    partition.prepare("c4", "h2")
    assert partition.store.group_hosts("g1") == {"h1": 2, "h2": 1}
    partition.store.abort([ClaimRef("c1", 1), ClaimRef("c3", 1)])
    assert partition.store.group_hosts("g1") == {"h1": 1}


def test_unknown_group_has_no_hosts(partition: StorePartition) -> None:
    assert partition.store.group_hosts("unheard-of") == {}


def test_claims_are_listed_by_host_node_consumer_and_page(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/n2")
    partition.add_host("h10")
    for consumer, node in (("c1", "h1/n1"), ("c2", "h1/n2"), ("c3", "h1/n1"), ("c4", "h10")):
        partition.prepare(consumer, node)

    def listed_consumers(**filters: Any) -> list[str]:
        return [claim.consumer for claim in partition.store.claims(**filters)[0]]

    assert listed_consumers() == ["c1", "c3", "c2", "c4"]
    assert listed_consumers(host="h1") == ["c1", "c3", "c2"]
    assert listed_consumers(host="h1/n1") == ["c1", "c3"]
    assert listed_consumers(consumer="c2") == ["c2"] and listed_consumers(consumer="cx") == []
    assert listed_consumers(consumer="c2", host="h10") == []
    consumers: list[str] = []
    marker = None
    for _ in range(3):
        page, marker = partition.store.claims(host="h1", marker=marker, limit=1)
        consumers += [claim.consumer for claim in page]
    assert (consumers, marker) == (["c1", "c3", "c2"], None)


def test_listed_claim_has_all_fields(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    prepared = partition.prepare("c1", "h1", "h2", request_id="req-9")
    claim = partition.store.claims()[0][0]
    assert (claim.consumer, claim.attempt, claim.generation, claim.type) == ("c1", 1, 1, "INSTANCE")
    assert (claim.project, claim.user, claim.request_id) == ("p", "u", "req-9")
    assert (claim.host, claim.allocations, claim.alternates) == ("h1", {"h1": SMALL}, ("h2",))
    assert claim.deadline_ms == prepared.deadline_ms and claim.group is None


def test_reap_drops_expired_claims_and_tombstones(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.pass_deadline(partition.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert partition.store.reap(dead_after_ms=60_000, tombstone_ms=60_000).ended == 1
    assert partition.used("h1") == {}
    assert partition.prepare("c1", "h1").answer is Answer.ENDED
    now = partition.time()
    partition.wait_until(now + 2)
    assert partition.store.reap(dead_after_ms=60_000, tombstone_ms=1).ended == 0
    assert partition.prepare("c1", "h1").answer is Answer.PREPARED


def test_reap_returns_the_age_of_the_prepared_claim_that_expires_next(partition: StorePartition) -> None:
    def prepared_ms() -> int:
        return partition.store.reap(dead_after_ms=None, tombstone_ms=LONG_MS).prepared_ms

    partition.add_host("h1")
    assert prepared_ms() == 0
    partition.hold("c1", "h1")
    partition.prepare("c2", "h1", ttl_ms=LONG_MS)
    begin = partition.time()
    partition.wait_until(begin + 5)
    later = partition.time()
    partition.prepare("c3", "h1", ttl_ms=LONG_MS // 2)

    assert 0 <= prepared_ms() <= partition.time() - later
    partition.store.abort([ClaimRef("c3", 1)])
    assert prepared_ms() >= later - begin - 1
    partition.store.confirm("h1", [ClaimRef("c2", 1)])
    assert prepared_ms() == 0


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_age_of_a_prepared_claim_survives_a_step_of_the_clock(partition: StorePartition, step_ms: int) -> None:
    partition.add_host("h1")
    partition.step_clock(step_ms)
    begin = time.monotonic()
    partition.prepare("c1", "h1", ttl_ms=LONG_MS)

    age_ms = partition.store.reap(dead_after_ms=None, tombstone_ms=LONG_MS).prepared_ms

    assert 0 <= age_ms <= 1000 * (time.monotonic() - begin) + 1


def test_prepared_claims_are_those_that_expire_first(partition: StorePartition) -> None:
    partition.add_host("h1")
    assert partition.store.prepared_claims() == []
    partition.hold("c1", "h1")
    partition.prepare("c2", "h1", ttl_ms=LONG_MS)
    partition.prepare("c3", "h1", ttl_ms=LONG_MS // 2)
    partition.pass_deadline(partition.prepare("c4", "h1", ttl_ms=SHORT_MS))

    prepared = partition.store.prepared_claims()

    assert [claim.consumer for claim in prepared] == ["c3", "c2"]
    assert [claim.consumer for claim in partition.store.prepared_claims(1)] == ["c3"]
    assert prepared == [claim for name in ("c3", "c2") for claim in partition.store.claims(consumer=name)[0]]
    with pytest.raises(errors.InvalidRequest):
        partition.store.prepared_claims(MAX_PAGE + 1)
