# SPDX-License-Identifier: Apache-2.0
"""Preparing claims: verdicts, all-or-nothing, identity and replacement."""

from typing import Any

import pytest

from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from tests.support.store.store_partition import SHORT_MS, SMALL, StorePartition, intent, node_stats


def test_first_fitting_candidate_is_claimed(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 1, "MEMORY_MB": 10})
    partition.add_host("h2")
    partition.add_host("h3")
    partition.add_host("h4")
    got = partition.prepare("c1", "h1", "h2", "h3", "h4", alternates=1)
    assert (got.answer, got.host, got.alternates) == (Answer.PREPARED, "h2", ("h3",))
    assert tuple(got.verdicts) == (Verdict.FULL, Verdict.FITS)
    assert partition.used("h2") == SMALL
    assert partition.states() == {"c1": "prepared"}
    partition.check()


def test_answer_has_new_position_and_sums(partition: StorePartition) -> None:
    partition.add_host("h1")
    before = partition.store.snapshot().position
    answer = partition.store.prepare(partition.batch(intent("c1", "h1"), intent("c2", "h1")))
    assert answer.accepted and answer.current
    assert answer.position == before + 1 == partition.store.snapshot().position
    assert answer.used == {"h1": {"VCPU": 2, "MEMORY_MB": 128, "claims": 2}}


def test_repeated_prepare_returns_the_recorded_answer(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    batch = partition.batch(intent("c1", "h1", "h2"))
    first = partition.store.prepare(batch)
    again = partition.store.prepare(batch)
    assert again.accepted and again.position == first.position
    assert (again.prepared[0].host, again.prepared[0].alternates) == ("h1", ("h2",))
    assert again.prepared[0].deadline_ms == first.prepared[0].deadline_ms
    assert partition.used("h1") == SMALL


def test_repeated_prepare_after_confirm_returns_the_recorded_answer(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.hold("c1", "h1")
    got = partition.prepare("c1", "h1")
    assert (got.answer, got.host, got.deadline_ms) == (Answer.PREPARED, "h1", None)
    assert partition.states() == {"c1": "confirmed"}


def test_batch_is_prepared_completely_or_not_at_all(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 2, "MEMORY_MB": 1024})
    answer = partition.store.prepare(partition.batch(*(intent(f"c{n}", "h1") for n in range(3))))
    assert not answer.accepted
    assert [result.answer for result in answer.prepared] == [Answer.REFUSED] * 3
    assert [tuple(result.verdicts) for result in answer.prepared] == [("FITS",), ("FITS",), ("FULL",)]
    assert partition.used("h1") == {} and partition.states() == {}
    partition.check()


def test_host_filled_after_the_decision_is_concurrent(partition: StorePartition) -> None:
    partition.add_host("h1", amounts={"VCPU": 1, "MEMORY_MB": 1024})
    early = partition.batch(intent("c2", "h1"))
    partition.prepare("c1", "h1")
    assert tuple(partition.store.prepare(early).prepared[0].verdicts) == (Verdict.CONCURRENT,)
    assert tuple(partition.prepare("c2", "h1").verdicts) == (Verdict.FULL,)


def test_smaller_inventory_after_the_decision_is_concurrent(partition: StorePartition) -> None:
    partition.add_host("h1")
    early = partition.batch(intent("c1", "h1"))
    partition.report("h1", {"h1": node_stats({"VCPU": 0, "MEMORY_MB": 1024})})
    assert tuple(partition.store.prepare(early).prepared[0].verdicts) == (Verdict.CONCURRENT,)


def test_changed_eligibility_is_stale(partition: StorePartition) -> None:
    partition.add_host("h1")
    early = partition.batch(intent("c1", "h1"))
    partition.report("h1", {"h1": node_stats({"VCPU": 4, "MEMORY_MB": 1024}, traits=["HW_CPU_X86_AVX"])})
    assert tuple(partition.store.prepare(early).prepared[0].verdicts) == (Verdict.STALE,)
    assert partition.prepare("c1", "h1").answer is Answer.PREPARED


def test_disabled_host_is_stale_for_older_decisions(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1")
    early = partition.batch(intent("c1", "h1/n1"))
    partition.store.put_state("service", "h1", 1, {"enabled": False, "disabled_reason": "disk"})
    assert tuple(partition.store.prepare(early).prepared[0].verdicts) == (Verdict.STALE,)


def test_unknown_provider_or_class_is_rejected(partition: StorePartition) -> None:
    partition.add_host("h1")
    got = partition.prepare("c1", "nowhere", "h1", resources={"VCPU": 1, "CUSTOM_GPU": 1})
    assert tuple(got.verdicts) == (Verdict.UNKNOWN, Verdict.UNKNOWN)
    assert got.answer is Answer.REFUSED


def test_host_that_was_never_audited_is_closed(partition: StorePartition) -> None:
    partition.add_host("h1", opened=False)
    assert tuple(partition.prepare("c1", "h1").verdicts) == (Verdict.CLOSED,)


def test_batch_of_an_old_epoch_is_not_prepared(partition: StorePartition) -> None:
    partition.add_host("h1")
    batch = partition.batch(intent("c1", "h1"))
    epoch = partition.new_epoch()
    answer = partition.store.prepare(batch)
    assert (answer.accepted, answer.current, answer.epoch) == (False, False, epoch)
    assert partition.states() == {}


@pytest.mark.parametrize(
    ("figures", "amount", "fits"),
    [
        ({"min_unit": 4}, 3, False),
        ({"min_unit": 4}, 4, True),
        ({"max_unit": 4}, 5, False),
        ({"max_unit": 4}, 4, True),
        ({"step_size": 4}, 6, False),
        ({"step_size": 4}, 8, True),
        ({"reserved": 10}, 11, False),
        ({"reserved": 10}, 10, True),
        ({"allocation_ratio": 1.15}, 23, True),
        ({"allocation_ratio": 1.15}, 24, False),
    ],
)
def test_min_max_step_and_ratio_are_checked(
    partition: StorePartition, figures: dict[str, Any], amount: int, fits: bool
) -> None:
    partition.report("h1", {"h1": node_stats({"VCPU": 20}, **figures)})
    partition.store.audit("h1", partition.store.snapshot().epoch, [], 0)
    got = partition.prepare("c1", "h1", resources={"VCPU": amount})
    assert (got.answer is Answer.PREPARED) == fits


def test_claim_over_several_providers(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/disk")
    spread = {"h1/n1": {"VCPU": 2}, "h1/disk": {"MEMORY_MB": 100}}
    claim_intent = Intent("c1", 1, [Candidate("h1/n1", spread)])
    assert partition.store.prepare(partition.batch(claim_intent, resources={})).accepted
    assert (partition.used("h1/n1"), partition.used("h1/disk")) == ({"VCPU": 2}, {"MEMORY_MB": 100})
    assert partition.store.claims()[0][0].allocations == spread
    partition.store.release("h1", [ClaimRef("c1", 1)])
    assert (partition.used("h1/n1"), partition.used("h1/disk")) == ({}, {})
    partition.check()


def test_repeated_prepare_returns_allocations(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/disk", amounts={"VCPU": 8, "MEMORY_MB": 1000})
    spread = {"h1/n1": {"VCPU": 2}, "h1/disk": {"MEMORY_MB": 100}}
    for consumer, candidate, expected in (
        ("c1", Candidate("h1/n1", spread), spread),
        ("c2", Candidate("h1/n1"), None),
        # At its host alone, but other than the batch's resources: all groups of a request may fit on the host.
        ("c3", Candidate("h1/n1", {"h1/n1": {"VCPU": 2}}), {"h1/n1": {"VCPU": 2}}),
    ):
        claim_intent = Intent(consumer, 1, [candidate])
        for _ in range(2):
            answer = partition.store.prepare(partition.batch(claim_intent, resources={"VCPU": 1}))
            assert answer.prepared[0].allocations == expected
    refused = partition.store.prepare(
        partition.batch(Intent("c4", 1, [Candidate("h1/n1", spread)]), Intent("c5", 1, []))
    )
    assert [result.allocations for result in refused.prepared] == [None, None]


def test_live_claim_of_another_attempt_is_a_conflict(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    assert partition.prepare("c1", "h1", attempt=2).answer is Answer.CONFLICT


def test_ended_or_older_attempt_stays_ended(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1", attempt=3)
    assert partition.prepare("c1", "h1", attempt=2).answer is Answer.ENDED
    partition.store.abort([ClaimRef("c1", 3)])
    assert partition.prepare("c1", "h1", attempt=3).answer is Answer.ENDED
    assert partition.prepare("c1", "h1", attempt=1).answer is Answer.ENDED
    assert partition.prepare("c1", "h1", attempt=4).answer is Answer.PREPARED


def test_delayed_prepare_after_abort_is_refused(partition: StorePartition) -> None:
    partition.add_host("h1")
    delayed = partition.batch(intent("c1", "h1"))
    partition.store.abort([ClaimRef("c1", 1)])
    assert partition.store.prepare(delayed).prepared[0].answer is Answer.ENDED
    assert partition.states() == {}


def test_replacement_ends_the_old_attempt_atomically(partition: StorePartition) -> None:
    partition.add_host("h1", amounts=SMALL)
    partition.prepare("c1", "h1")
    got = partition.prepare("c1", "h1", attempt=2, replaces=1)
    assert got.answer is Answer.PREPARED
    assert partition.store.confirm("h1", [ClaimRef("c1", 1)])[0].answer is Answer.ABORTED
    assert partition.used("h1") == SMALL
    partition.check()


def test_refused_replacement_keeps_the_old_attempt(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2", amounts={"VCPU": 1, "MEMORY_MB": 1})
    partition.prepare("c1", "h1")
    assert partition.prepare("c1", "h2", attempt=2, replaces=1).answer is Answer.REFUSED
    assert partition.store.confirm("h1", [ClaimRef("c1", 1)])[0].answer is Answer.CONFIRMED


def test_confirmed_attempt_cannot_be_replaced(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.add_host("h2")
    partition.hold("c1", "h1")
    got = partition.prepare("c1", "h2", attempt=2, replaces=1)
    assert (got.answer, got.host) == (Answer.CONFIRMED, "h1")
    assert partition.used("h2") == {}


def test_expired_attempt_can_be_replaced(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.pass_deadline(partition.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    assert partition.store.abort([ClaimRef("c1", 1)])[0].answer is Answer.EXPIRED
    partition.check()


def test_unknown_replaced_attempt_gets_a_tombstone(partition: StorePartition) -> None:
    partition.add_host("h1")
    delayed = partition.batch(intent("c1", "h1"))
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).answer is Answer.PREPARED
    assert partition.store.prepare(delayed).prepared[0].answer is Answer.ENDED


def test_expired_claim_frees_capacity(partition: StorePartition) -> None:
    partition.add_host("h1", amounts=SMALL)
    partition.pass_deadline(partition.prepare("c1", "h1", ttl_ms=SHORT_MS))
    assert partition.prepare("c2", "h1").answer is Answer.PREPARED
    assert partition.prepare("c1", "h1").answer is Answer.ENDED
    partition.check()


def test_attempt_replaced_before_it_arrived_is_ended(partition: StorePartition) -> None:
    partition.add_host("h1")
    assert partition.prepare("c1", "h1", attempt=2, replaces=1).host == "h1"
    partition.store.abort([ClaimRef("c1", 2)])
    assert partition.store.confirm("h1", [ClaimRef("c1", 1)])[0].answer is Answer.ABORTED
    assert partition.prepare("c1", "h1", attempt=1).answer is Answer.ENDED


def test_repeated_prepare_of_a_parked_claim_is_closed_until_audit(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.new_epoch()
    partition.pass_deadline_of("c1")
    again = partition.prepare("c1", "h1")
    assert (again.answer, again.host) == (Answer.CLOSED, "h1")


def test_claim_that_its_host_reports_has_not_been_replaced(partition: StorePartition) -> None:
    # Given an earlier attempt that runs, and a conductor that knows a later one
    partition.add_host("h1")
    partition.add_host("h2")
    partition.prepare("c1", "h1")
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    conflict = partition.prepare("c1", "h2", attempt=3, replaces=2)
    assert (conflict.answer, conflict.host) == (Answer.CONFLICT, "h1")
    # When the store may have forgotten the end of the earlier one, then the audit of its host decides
    partition.new_epoch()
    assert partition.prepare("c1", "h2", attempt=3, replaces=2).answer is Answer.CLOSED
