# SPDX-License-Identifier: Apache-2.0
"""Batched calls of the claims service."""

from dataclasses import replace

import oslo_messaging as messaging
import pytest

from conductor.claim_answers import ClaimAnswerRow, find, results_by_claim
from conductor.saga import claims
from conductor.saga.claims import ENDED_ANSWERS
from rpcapi import errors, objects
from rpcapi.resources.claims import Answer
from tests.support.conductor.step_contexts import FakeClaims, instance, make_context


def test_answers_are_found_by_consumer_and_attempt() -> None:
    answers = objects.ClaimAnswers.of(
        consumers=["a", "b"],
        attempts=[1, 2],
        answers=["prepared", "refused"],
        hosts=["h/n", None],
        reasons=["", "full"],
        deadlines_ms=[5, None],
        allocations=[{"h/n": {"VCPU": 1}}, None],
    )
    assert results_by_claim(answers) == {
        ("a", 1): ClaimAnswerRow("prepared", "h/n", "", {"h/n": {"VCPU": 1}}),
        ("b", 2): ClaimAnswerRow("refused", None, "full", None),
    }


def test_answers_of_older_services_have_no_allocations() -> None:
    answers = objects.ClaimAnswers.of(
        consumers=["a"], attempts=[1], answers=["aborted"], hosts=[None], reasons=[""], deadlines_ms=[None]
    )
    assert results_by_claim(answers)["a", 1].allocations is None


def test_no_live_or_undecided_claim_counts_as_ended() -> None:
    open_answers = {Answer.PREPARED, Answer.CONFIRMED, Answer.CLOSED, Answer.FOREIGN, Answer.REFUSED, Answer.CONFLICT}
    open_answers |= {Answer.UNVERIFIED, Answer.POSSIBLE}
    assert set(ENDED_ANSWERS) == set(Answer) - open_answers


def test_abort_ends_the_current_attempt_and_on_request_the_next() -> None:
    scripted = FakeClaims(lambda consumer, attempt: ("aborted", None))
    context = make_context(scripted)
    instances = [instance("a", attempt=2, partition="p"), instance("b", attempt=1, partition="p")]
    assert (claims.abort(context, instances) or {}).keys() == {("a", 2), ("b", 1)}
    answers = claims.abort(context, instances, include_next=True)
    assert (answers or {}).keys() == {("a", 2), ("a", 3), ("b", 1), ("b", 2)}
    assert {partition for partition, _ in scripted.calls} == {"p"}


def test_only_a_certain_record_says_which_host_may_run_an_attempt() -> None:
    scripted = FakeClaims(lambda consumer, attempt: ("aborted", None))
    ended = [{"attempt": 1, "host": "h/n", "outcome": "lost", "reason": "x"}]
    instances = [
        instance("placed", host="h/n", certain_epoch=7),
        instance("new", certain_epoch=7),
        instance("moved", attempt=2, history=ended, certain_epoch=7),
        instance("older", host="h/n", certain_epoch=6),
    ]
    certain = replace(make_context(scripted), epoch=7, may_repeat=False)
    claims.abort(certain, instances, include_next=True)
    expected = {"placed": "h", "new": "", "moved": None, "older": None}
    assert {uuid: host for (uuid, _), host in scripted.destinations.items()} == expected
    claims.abort(replace(certain, may_repeat=True), instances, include_next=True)
    assert set(scripted.destinations.values()) == {None}


def test_instance_without_partition_has_its_claims_in_the_default_one() -> None:
    scripted = FakeClaims(lambda consumer, attempt: ("aborted", None))
    claims.abort(make_context(scripted), [instance()])
    assert [partition for partition, _ in scripted.calls] == ["cell"]


def test_many_claims_are_ended_by_several_calls() -> None:
    scripted = FakeClaims(lambda consumer, attempt: ("aborted", None))
    instances = [instance(f"i{number}") for number in range(claims.CLAIMS_PER_CALL + 1)]
    answers = claims.abort(make_context(scripted), instances)
    assert len(answers or {}) == len(instances)
    assert [len(pairs) for _, pairs in scripted.calls] == [claims.CLAIMS_PER_CALL, 1]


@pytest.mark.parametrize(
    "error", [messaging.MessagingTimeout("late"), errors.StoreUnavailable(why="away"), errors.UnknownHost(name="x")]
)
def test_abort_without_complete_answer_has_no_result(error: Exception) -> None:
    def answer(consumer: str, attempt: int) -> tuple[str, None]:
        if consumer == "last":
            raise error
        return "aborted", None

    instances = [*(instance(f"i{number}") for number in range(claims.CLAIMS_PER_CALL)), instance("last")]
    assert claims.abort(make_context(FakeClaims(answer)), instances) is None


def test_ends_are_found_in_batches_and_in_order() -> None:
    ends = [(f"i{number}", number) for number in range(1, claims.CLAIMS_PER_CALL + 3)]
    scripted = FakeClaims(lambda _uuid, attempt: ("fenced" if attempt % 2 else "confirmed", None))
    context = make_context(scripted)
    results = find(context.new_ctxt(), context.clients, "b", ends)
    assert [len(pairs) for _partition, pairs in scripted.calls] == [claims.CLAIMS_PER_CALL, 2]
    assert [claim.state for claim in results] == ["fenced" if attempt % 2 else "confirmed" for _uuid, attempt in ends]
