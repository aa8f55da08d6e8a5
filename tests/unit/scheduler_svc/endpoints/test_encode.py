# SPDX-License-Identifier: Apache-2.0
"""Domain records as objects for the bus."""

import pytest

from rpcapi.resources.claims import Answer, ClaimState, GroupPolicy, Verdict
from scheduler_svc.core.records import (
    BatchAnswer,
    Candidate,
    Claim,
    ClaimGroup,
    ClaimResult,
    Intent,
    IntentResult,
)
from scheduler_svc.core.timings import PluginTimings
from scheduler_svc.endpoints import encode
from scheduler_svc.host_state.documents import HostStateDocument
from scheduler_svc.scheduling.alternates import PreparedBatch
from scheduler_svc.scheduling.calls import ServedCall
from scheduler_svc.scheduling.extensions import CatalogueEntry
from scheduler_svc.store.records import AuditOutcome, Verification

TREE = {"b": {"VCPU": 1}, "b/gpu": {"VGPU": 1}}


def prepared(consumer, host, alternates=(), deadline_ms=500, allocations=None):
    return IntentResult(consumer, 1, Answer.PREPARED, host, alternates, deadline_ms, [Verdict.FITS], allocations)


def test_selection_has_hosts_alternates_and_the_earliest_deadline():
    result = ServedCall([prepared("c1", "a", ["b"], 900), prepared("c2", "b", [], 700)], 7, 42, "east")
    answer = encode.selections(3, result)
    assert [answer.host(number) for number in range(2)] == ["a", "b"]
    assert [list(answer.alternates_of(number)) for number in range(2)] == [["b"], []]
    assert (answer.partition, answer.attempt, answer.deadline_ms, answer.epoch, answer.position) == (
        "east",
        3,
        700,
        7,
        42,
    )


def test_allocations_are_sent_only_if_a_claim_has_its_own():
    plain = ServedCall([prepared("c1", "a"), prepared("c2", "b")], 7, 42, "east")
    assert encode.selections(1, plain).allocations == []
    mixed = ServedCall([prepared("c1", "a"), prepared("c2", "b", allocations=TREE)], 7, 42, "east")
    assert encode.selections(1, mixed).allocations == [None, TREE]


def refused(*verdicts, current=True, answer=Answer.REFUSED):
    """Return the encoded answer to one intent with candidates "a" and "b"."""
    result = IntentResult("c1", 2, answer, verdicts=verdicts)
    batch_answer = BatchAnswer(False, current, 7, 42, [result])
    intent = Intent("c1", 2, [Candidate("a"), Candidate("b")])
    answers = encode.prepare_answers(PreparedBatch([intent], batch_answer))
    return answers.answers[0], answers.reasons[0]


@pytest.mark.parametrize(
    ("verdicts", "answer", "reason"),
    [
        ([Verdict.FULL, Verdict.STALE], Answer.REFUSED, "a: FULL, b: STALE"),
        ([Verdict.FULL], Answer.REFUSED, "a: FULL"),
        ([], Answer.REFUSED, "no candidates"),
        ([Verdict.FULL, Verdict.CLOSED], Answer.CLOSED, "a: FULL, b: CLOSED"),
        # Another intent of the batch was refused; an audit of this host would not change that.
        ([Verdict.CLOSED, Verdict.FITS], Answer.POSSIBLE, "a: CLOSED, b: FITS"),
    ],
)
def test_refusal_lists_the_verdict_on_each_host(verdicts, answer, reason):
    assert refused(*verdicts) == (answer, reason)


def test_refusal_because_of_a_new_epoch_may_change():
    assert refused(current=False) == (Answer.CLOSED, "the store has begun a new epoch")


def test_other_answers_of_prepare_have_their_own_reasons():
    answer, reason = refused(answer=Answer.CONFLICT)
    assert (answer, reason) == (Answer.CONFLICT, "the consumer has a live claim of another attempt")
    assert refused(answer=Answer.PREPARED) == (Answer.PREPARED, "")


def test_claim_answer_other_than_success_has_a_reason():
    results = [ClaimResult("c1", 1, Answer.CONFIRMED, "a"), ClaimResult("c2", 2, Answer.EXPIRED)]
    answers = encode.claim_answers(results, Answer.CONFIRMED)
    assert (answers.consumers, answers.attempts, answers.hosts) == (["c1", "c2"], [1, 2], ["a", None])
    assert answers.answers == ["confirmed", "expired"]
    assert answers.reasons[0] == ""
    assert "deadline passed" in answers.reasons[1]
    # The same answer to an abort is no success.
    assert "belongs to its host" in encode.claim_answers(results, Answer.ABORTED).reasons[0]


@pytest.mark.parametrize(("deadline_ms", "sent_ms"), [(500, 530), (None, None)])
def test_listed_claim_has_its_deadline_by_the_clock_of_the_server(deadline_ms, sent_ms):
    group = ClaimGroup("g", GroupPolicy.AFFINITY)
    claim = Claim(
        *("c1", 2, 3, "INSTANCE", "p", "u", ClaimState.PREPARED, "b", TREE, "req-1", 100),
        deadline_ms=deadline_ms,
        alternates=("c",),
        group=group,
    )
    document = encode.claim(claim, 30)
    assert document["deadline_ms"] == sent_ms
    assert (document["consumer"], document["attempt"], document["generation"], document["state"]) == (
        "c1",
        2,
        3,
        "prepared",
    )
    assert (document["allocations"], document["alternates"], document["group_id"]) == (TREE, ["c"], "g")
    assert document["unheld"] == {}


def test_listed_claim_has_what_its_guest_uses_beyond_it():
    reported = {"b": {"VCPU": 3, "DISK_GB": 1}, "c": {"VCPU": 1}}
    claim = Claim(
        *("c1", 2, 3, "INSTANCE", "p", "u", ClaimState.CONFIRMED, "b", {"b": {"VCPU": 3, "DISK_GB": 2}}, "req-1", 100),
        reported=reported,
    )
    assert encode.claim(claim, 0)["unheld"] == {"c": {"VCPU": 1}}


def test_audit_answer_says_in_seconds_when_to_audit_again():
    outcome = AuditOutcome(7, [ClaimResult("c1", 1, Answer.RELEASED)], 2, 3, 4, again_ms=1500)
    answer = encode.audit_answer(outcome, "7.42.aa")
    assert answer.stamp == "7.42.aa"
    assert (answer.epoch, answer.consumers, answer.attempts, answer.answers) == (7, ["c1"], [1], ["released"])
    assert (answer.reasserted, answer.released, answer.orphans, answer.again_s) == (2, 3, 4, 1.5)


def test_verification_is_sent_as_plain_values():
    report = encode.verify_report(
        "east", Verification(7, 42, {"confirmed": 2}, 5, ("a problem",), ({"host": "a"},), ("h1",))
    )
    assert (report.partition, report.epoch, report.position, report.providers) == ("east", 7, 42, 5)
    assert (report.claims, report.problems, report.excess, report.awaited) == (
        {"confirmed": 2},
        ["a problem"],
        [{"host": "a"}],
        ["h1"],
    )


def test_document_has_its_namespace_and_partition():
    state = encode.host_state("rack", HostStateDocument("east", "h1", 3, {"watts": 5}))
    assert (state.namespace, state.name, state.version, state.document, state.partition) == (
        "rack",
        "h1",
        3,
        {"watts": 5},
        "east",
    )


def test_page_of_decisions_has_the_marker_of_the_next_one():
    page = encode.decisions("east", [("req-1", {"outcome": "selected"})], "next")
    (decision,) = page.decisions
    assert (decision.request_id, decision.partition, decision.document) == ("req-1", "east", {"outcome": "selected"})
    assert page.marker == "next"


def test_filters_have_their_timings_and_sorted_reads():
    timings = PluginTimings(calls=3, errors=1, seconds=0.5, hosts=30, last_error="KeyError: 'x'")
    reads = {"compute": frozenset({"traits", "facts"})}
    listing = encode.filters("w0", [CatalogueEntry("F", "filter", "columnar", "acme 1.2", True, reads, timings)])
    assert (listing.worker, listing.names, listing.kinds, listing.forms) == ("w0", ["F"], ["filter"], ["columnar"])
    assert (listing.sources, listing.enabled, listing.reads) == (
        ["acme 1.2"],
        [True],
        [{"compute": ["facts", "traits"]}],
    )
    assert (listing.calls, listing.errors, listing.seconds, listing.hosts, listing.last_errors) == (
        [3],
        [1],
        [0.5],
        [30],
        ["KeyError: 'x'"],
    )
