# SPDX-License-Identifier: Apache-2.0
"""Among near candidates, those unchanged since the decision are tried first."""

from rpcapi.resources.claims import Verdict
from scheduler_svc.core.records import Candidate, Intent
from tests.support.store.store_partition import StorePartition

PASSED, FITS, FULL, CONCURRENT = Verdict.PASSED, Verdict.FITS, Verdict.FULL, Verdict.CONCURRENT


def hosts(partition: StorePartition, *names: str) -> int:
    """Add hosts, and return the position of the decision."""
    for name in names:
        partition.add_host(name, amounts={"VCPU": 2})
    return partition.store.snapshot().position


def claim(partition: StorePartition, position: int, *candidates: Candidate, near: int, amount: int = 1):
    batch = partition.batch(Intent("asked", 1, candidates, near=near), resources={"VCPU": amount}, position=position)
    return partition.store.prepare(batch).prepared[0]


def touch(partition: StorePartition, host: str, amount: int = 1) -> None:
    partition.prepare(f"other-{host}", host, resources={"VCPU": amount})


def test_unchanged_near_candidate_is_tried_before_changed(partition: StorePartition) -> None:
    position = hosts(partition, "a", "b", "c")
    touch(partition, "a")
    result = claim(partition, position, *map(Candidate, "abc"), near=3)
    assert (result.host, result.verdicts, result.alternates) == ("b", (PASSED, FITS), ("c",))


def test_worse_candidate_is_not_tried_before_changed_near_candidate(partition: StorePartition) -> None:
    position = hosts(partition, "a", "b", "c")
    touch(partition, "a")
    assert claim(partition, position, *map(Candidate, "abc"), near=1).verdicts == (FITS,)


def test_first_candidate_is_tried_first_when_all_near_changed(partition: StorePartition) -> None:
    position = hosts(partition, "a", "b", "c")
    touch(partition, "a")
    touch(partition, "b")
    result = claim(partition, position, *map(Candidate, "abc"), near=2)
    assert (result.host, result.verdicts, result.alternates) == ("a", (FITS, PASSED), ("b", "c"))


def test_changed_near_candidate_is_tried_before_worse(partition: StorePartition) -> None:
    position = hosts(partition, "a", "b", "c", "d")
    touch(partition, "a", 2)
    touch(partition, "b")
    result = claim(partition, position, *map(Candidate, "abcd"), near=2)
    assert (result.host, result.verdicts) == ("b", (CONCURRENT, FITS))


def test_other_candidates_are_tried_when_no_near_fits(partition: StorePartition) -> None:
    position = hosts(partition, "a", "b", "c")
    touch(partition, "a", 2)
    touch(partition, "b", 2)
    result = claim(partition, position, *map(Candidate, "abc"), near=2)
    assert (result.host, result.verdicts) == ("c", (CONCURRENT, CONCURRENT, FITS))


def test_own_claims_of_the_worker_are_not_a_change(partition: StorePartition) -> None:
    position = hosts(partition, "a", "b")
    touch(partition, "a")
    sums_position = partition.store.snapshot().position
    assert claim(partition, position, Candidate("a", sums_position=sums_position), Candidate("b"), near=2).verdicts == (
        FITS,
    )


def test_sums_position_distinguishes_full_from_concurrent(partition: StorePartition) -> None:
    position = hosts(partition, "a")
    touch(partition, "a", 2)
    sums_position = partition.store.snapshot().position
    assert claim(partition, position, Candidate("a", sums_position=sums_position), near=1).verdicts == (FULL,)
    assert claim(partition, position, Candidate("a"), near=1).verdicts == (CONCURRENT,)


def test_candidate_may_have_allocations_and_sums_position(partition: StorePartition) -> None:
    position = hosts(partition, "a", "b")
    touch(partition, "a")
    sums_position = partition.store.snapshot().position
    own = {"a": {"VCPU": 1}}
    result = claim(partition, position, Candidate("a", own, sums_position), Candidate("b"), near=2)
    assert (result.host, result.verdicts) == ("a", (FITS,))
    assert partition.used("a") == {"VCPU": 2}
