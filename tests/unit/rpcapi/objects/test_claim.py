# SPDX-License-Identifier: Apache-2.0
"""Answers about claims, as errors where the caller wants them so."""

import pytest

from rpcapi import errors, objects
from rpcapi.model.claims import Answer


def answers(*given: Answer) -> objects.ClaimAnswers:
    count = len(given)
    return objects.ClaimAnswers.of(
        consumers=[f"c{n}" for n in range(count)],
        attempts=[1] * count,
        answers=[str(answer) for answer in given],
        hosts=["host1"] * count,
        reasons=[""] * count,
        deadlines_ms=[None] * count,
    )


def test_wanted_answers_raise_nothing():
    answers(Answer.CONFIRMED, Answer.PREPARED).raise_unless(Answer.CONFIRMED, Answer.PREPARED)


@pytest.mark.parametrize(
    ("answer", "kind"),
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
def test_any_other_is_the_error_of_its_kind_about_the_first_such_claim(answer, kind):
    with pytest.raises(errors.ClaimError) as caught:
        answers(Answer.CONFIRMED, answer, answer).raise_unless(Answer.CONFIRMED)
    assert type(caught.value) is kind
    assert "c1" in caught.value.sentence


@pytest.mark.parametrize(("problems", "excess", "clean"), [([], [], True), (["x"], [], False), ([], [{}], False)])
def test_a_partition_is_clean_without_problems_and_excess(problems, excess, clean):
    report = objects.VerifyReport.of(
        partition="p", epoch=1, position=1, claims={}, providers=0, problems=problems, excess=excess
    )
    assert report.clean is clean
