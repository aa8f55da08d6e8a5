# SPDX-License-Identifier: Apache-2.0
"""Claim answers and their errors."""

import pytest

from rpcapi import errors, objects
from rpcapi.resources.claims import Answer


def answers(*claim_answers: Answer) -> objects.ClaimAnswers:
    count = len(claim_answers)
    return objects.ClaimAnswers.of(
        consumers=[f"c{n}" for n in range(count)],
        attempts=[1] * count,
        answers=[str(answer) for answer in claim_answers],
        hosts=["host1"] * count,
        reasons=[""] * count,
        deadlines_ms=[None] * count,
    )


def test_accepted_answers_raise_no_error():
    answers(Answer.CONFIRMED, Answer.PREPARED).raise_unless(Answer.CONFIRMED, Answer.PREPARED)


@pytest.mark.parametrize(
    ("answer", "error_class"),
    [
        (Answer.UNKNOWN, errors.ClaimUnknown),
        (Answer.FOREIGN, errors.ClaimForeign),
        (Answer.EXPIRED, errors.ClaimExpired),
        (Answer.ABORTED, errors.ClaimEnded),
        (Answer.RELEASED, errors.ClaimEnded),
        (Answer.ENDED, errors.ClaimEnded),
        (Answer.CONFLICT, errors.ClaimConflict),
        (Answer.CLOSED, errors.ClaimClosed),
        (Answer.REFUSED, errors.ClaimError),
        (Answer.PREPARED, errors.ClaimError),
    ],
)
def test_other_answer_raises_its_error_for_the_first_such_claim(answer, error_class):
    with pytest.raises(errors.ClaimError) as caught:
        answers(Answer.CONFIRMED, answer, answer).raise_unless(Answer.CONFIRMED)
    assert type(caught.value) is error_class
    assert "c1" in caught.value.sentence


@pytest.mark.parametrize(("problems", "excess", "clean"), [([], [], True), (["x"], [], False), ([], [{}], False)])
def test_report_is_clean_without_problems_and_excess(problems, excess, clean):
    report = objects.VerifyReport.of(
        partition="p", epoch=1, position=1, claims={}, providers=0, problems=problems, excess=excess
    )
    assert report.clean is clean
