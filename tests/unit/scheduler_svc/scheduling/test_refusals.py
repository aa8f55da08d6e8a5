# SPDX-License-Identifier: Apache-2.0
"""Refusals: their reasons, and the errors for answers of the store."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from rpcapi.resources.trees.search import NoCandidateReason
from scheduler_svc.core.records import Candidate, Intent, IntentResult
from scheduler_svc.scheduling import refusals
from tests.support.scheduler.workers import metric_value


def test_refusal_has_the_reasons_in_their_order_without_zero_counts():
    error = refusals.no_valid_host({"not enough VCPU": 8, "ignored host": 0, "service down": 1})
    assert error.sentence == "No valid host: 8 not enough VCPU, 1 service down"
    assert error.kwargs["reasons"] == {"not enough VCPU": 8, "ignored host": 0, "service down": 1}


@pytest.mark.parametrize("reasons", [{}, {"service down": 0}])
def test_refusal_without_reasons_says_that_no_host_reported(reasons):
    assert refusals.NO_HOSTS in refusals.no_valid_host(reasons).sentence


def test_metric_counts_the_reasons_of_rejected_hosts_not_of_undecided_ones():
    def counted():
        return [metric_value("scheduler_refusals_total", reason=str(reason)) for reason in NoCandidateReason]

    rejected, undecided = counted()
    refusals.count(refusals.no_valid_host({str(reason): 2 for reason in NoCandidateReason}))
    assert counted() == [rejected + 1, undecided]


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (Answer.ENDED, errors.ClaimEnded),
        (Answer.CONFLICT, errors.ClaimConflict),
        (Answer.CONFIRMED, errors.ClaimConflict),
        (Answer.CLOSED, errors.ClaimClosed),
    ],
)
def test_refused_attempt_has_the_error_of_its_answer(answer, error_class):
    results = [IntentResult("vm-0", 1, Answer.PREPARED, "a"), IntentResult("vm-1", 2, answer, "b")]
    error = refusals.claim_error(results, "west")
    assert isinstance(error, error_class)
    fields = {name: error.kwargs[name] for name in ("consumer", "attempt", "host", "partition")}
    assert fields == {"consumer": "vm-1", "attempt": 2, "host": "b", "partition": "west"}


def test_refused_candidates_have_no_claim_error():
    results = [IntentResult("vm-0", 1, Answer.REFUSED, verdicts=[Verdict.FULL])]
    assert refusals.claim_error(results, "west") is None


def test_candidates_that_were_not_tried_have_no_verdict():
    intents = [Intent("vm-0", 1, [Candidate("a"), Candidate("b"), Candidate("c")])]
    results = [IntentResult("vm-0", 1, Answer.PREPARED, "b", verdicts=[Verdict.FULL, Verdict.FITS])]
    assert refusals.last_verdicts(intents, results) == {"a": Verdict.FULL, "b": Verdict.FITS}


@pytest.mark.parametrize(
    ("is_affinity", "expected"), [(True, {"a": Verdict.FULL}), (False, {"a": Verdict.FULL, "b": Verdict.GROUP})]
)
def test_instances_of_one_call_lose_no_race_for_their_group_to_each_other(is_affinity, expected):
    intents = [Intent(f"vm-{number}", 1, [Candidate("a"), Candidate("b")]) for number in range(3)]
    verdicts = [[Verdict.FITS], [Verdict.FULL, Verdict.GROUP], [Verdict.GROUP, Verdict.GROUP]]
    results = [IntentResult("vm", 1, Answer.REFUSED, verdicts=row) for row in verdicts]
    assert refusals.last_verdicts(intents, results, is_affinity=is_affinity) == expected


def test_lost_candidates_are_counted_by_reason():
    verdicts = {"a": Verdict.FULL, "b": Verdict.CONCURRENT, "c": Verdict.STALE, "d": Verdict.FITS}
    assert refusals.count_lost_candidates(verdicts) == {
        "full": 1,
        "claimed by others meanwhile": 1,
        "changed meanwhile": 1,
    }


def test_latest_lost_candidates_are_kept():
    earlier = {f"h{number}": Verdict.FULL for number in range(refusals.MAX_LOST_CANDIDATES)}
    merged = refusals.merge_lost_candidates(earlier, {"h1": Verdict.STALE, "new": Verdict.FULL, "free": Verdict.FITS})
    assert len(merged) == refusals.MAX_LOST_CANDIDATES
    assert (merged["h1"], merged["new"]) == (Verdict.STALE, Verdict.FULL)
    assert "h0" not in merged and "free" not in merged
