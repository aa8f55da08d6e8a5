# SPDX-License-Identifier: Apache-2.0
"""Each invariant of the final state: the checker finds its violation, and nothing in a sound run."""

from dataclasses import replace

import pytest

from devstack.lab.chaos.final_state import FinalState, GuestFile, StoredGroup, StoredPartition
from devstack.lab.chaos.state_checks import check_state
from devstack.lab.chaos.violations import ViolationKind
from tests.unit.devstack.lab.chaos.crafted import DELETED, RUNS, SIZE, USED, USED_TWICE, CraftedRun, claim


def test_sound_run_has_no_violation() -> None:
    report = CraftedRun().check()
    assert not report.violations
    assert set(report.counts.values()) == {0}
    assert report.text() == ""


def test_guest_without_a_claim() -> None:
    # A2: its capacity is free again, and the guest still runs
    run = CraftedRun()
    run.change_partition(claims=[], used={})
    assert ViolationKind.UNCLAIMED in run.kinds()


def test_guest_of_another_attempt_than_the_claim() -> None:
    run = CraftedRun()
    run.guests[0] = replace(run.guests[0], attempt=2)
    assert ViolationKind.UNCLAIMED in run.kinds()


def test_guest_under_a_prepared_claim() -> None:
    run = CraftedRun()
    run.change_partition(claims=[claim(state="prepared", deadline_ms=99_000)])
    assert run.kinds() == {ViolationKind.UNCLAIMED}


def test_two_guests_of_an_instance() -> None:
    # A1: a second copy on another host
    run = CraftedRun()
    run.guests.append(GuestFile("h2", RUNS, 2, "h2/node0"))
    assert ViolationKind.DOUBLY_RUNNING in run.kinds()


def test_live_claims_of_a_consumer_in_two_partitions() -> None:
    first = StoredPartition("p", 1, 0, [claim()])
    second = StoredPartition("q", 1, 0, [claim()])
    kinds = {violation.kind for violation in check_state(FinalState(partitions=[first, second]))}
    assert ViolationKind.DOUBLY_CLAIMED in kinds


def test_prepared_claim_past_its_deadline() -> None:
    run = CraftedRun()
    used = {"h1/node0": USED_TWICE}
    run.change_partition(claims=[claim(), claim("late", state="prepared", deadline_ms=9_000)], used=used)
    (violation,) = run.check().violations
    assert violation.kind is ViolationKind.LEAKED
    assert violation.evidence == "attempt 1, prepared, on h1/node0, is 1.0 s past its deadline"


def test_prepared_claim_within_its_deadline_is_sound() -> None:
    run = CraftedRun()
    used = {"h1/node0": USED_TWICE}
    run.change_partition(claims=[claim(), claim("early", state="prepared", deadline_ms=11_000)], used=used)
    assert not run.check().violations


def test_confirmed_claim_that_no_journal_holds() -> None:
    run = CraftedRun()
    run.change_partition(claims=[claim(), claim("forgotten")], used={"h1/node0": USED_TWICE})
    assert run.kinds() == {ViolationKind.LEAKED}


def test_claim_of_an_ended_attempt() -> None:
    run = CraftedRun()
    run.change_partition(ended={DELETED: {1: "released"}, RUNS: {1: "released"}})
    assert run.kinds() == {ViolationKind.ILLEGAL}


@pytest.mark.parametrize("ended", [0, 2])  # 2: the destination of a move that was reverted
def test_claim_of_another_attempt_than_the_ended_one_is_sound(ended: int) -> None:
    run = CraftedRun()
    run.change_partition(ended={DELETED: {1: "released"}, RUNS: {ended: "aborted"}})
    assert not run.check().violations


def test_two_claims_of_an_instance_that_are_no_ends_of_one_move() -> None:
    for source_of in (None, "moves"):
        run = CraftedRun()
        first, second = claim(source_of=source_of), claim(attempt=2, source_of=source_of)
        run.change_partition(claims=[first, second], used={"h1/node0": USED_TWICE})
        assert ViolationKind.DOUBLY_CLAIMED in run.kinds()


def test_wrong_sum() -> None:
    run = CraftedRun()
    run.change_partition(used={"h1/node0": {"VCPU": 1, "claims": 1}})
    (violation,) = run.check().violations
    assert violation.kind is ViolationKind.WRONG_SUMS
    assert violation.evidence == "VCPU: 1 recorded as used, 2 used by live claims"


def test_claim_counts_as_foreign_on_a_provider_of_another_host() -> None:
    run = CraftedRun()
    shared = replace(claim(), allocations={"h1/node0": SIZE, "pool": {"DISK_GB": 1}})
    capacity = {**run.partition.capacity, "pool": {"DISK_GB": 4}}
    run.change_partition(
        claims=[shared], capacity=capacity, used={"h1/node0": USED, "pool": {"DISK_GB": 1, "claims": 1}}
    )
    (violation,) = run.check().violations
    assert violation.evidence == "foreign_claims: 0 recorded as used, 1 used by live claims"


def test_claims_beyond_capacity() -> None:
    run = CraftedRun()
    run.change_partition(capacity={"h1/node0": {"VCPU": 1}})
    assert run.kinds() == {ViolationKind.OVERSOLD}


def test_guests_beyond_capacity_though_the_claims_fit() -> None:
    # Given a store that forgot a claim, and gave its capacity to another
    run = CraftedRun()
    run.history.guests.clear()  # no observer saw them
    run.attempts.append(replace(run.attempts[0], uuid="other"))
    run.guests.append(GuestFile("h1", "other", 1, "h1/node0"))
    run.change_partition(capacity={"h1/node0": {"VCPU": 3}}, used={"h1/node0": USED})
    evidence = [item.evidence for item in run.check().violations if item.kind is ViolationKind.OVERSOLD]
    assert evidence == ["guests use 4 of 3 VCPU"]


def test_affinity_group_on_two_nodes_of_two_partitions() -> None:
    group = StoredGroup("g", "affinity")
    first = StoredPartition("p", 1, 0, [claim(group=group)])
    second = StoredPartition("q", 1, 0, [claim("other", host="h2/node0", group=group)])
    kinds = {violation.kind for violation in check_state(FinalState(partitions=[first, second]))}
    assert ViolationKind.GROUP in kinds


def test_anti_affinity_group_with_too_many_members_on_a_node() -> None:
    claims = [claim(f"c{number}", group=StoredGroup("g", "anti-affinity", 2)) for number in range(3)]
    kinds = [violation.kind for violation in check_state(FinalState(partitions=[StoredPartition("p", 1, 0, claims)]))]
    assert kinds.count(ViolationKind.GROUP) == 1
    two = check_state(FinalState(partitions=[StoredPartition("p", 1, 0, claims[:2])]))
    assert ViolationKind.GROUP not in {violation.kind for violation in two}


@pytest.mark.parametrize("policy", ["affinity", "anti-affinity"])
def test_member_that_moves_breaks_no_group(policy: str) -> None:
    group = StoredGroup("g", policy)
    other = "h2/node0" if policy == "affinity" else "h1/node0"
    claims = [claim(group=group, source_of="migration"), claim(host=other, attempt=2, group=group)]
    violations = check_state(FinalState(partitions=[StoredPartition("p", 1, 0, claims)]))
    assert ViolationKind.GROUP not in {violation.kind for violation in violations}


def test_source_of_a_move_counts_for_anti_affinity() -> None:
    group = StoredGroup("g", "anti-affinity")
    claims = [claim(group=group, source_of="migration"), claim("other", group=group)]
    violations = check_state(FinalState(partitions=[StoredPartition("p", 1, 0, claims)]))
    assert ViolationKind.GROUP in {violation.kind for violation in violations}
