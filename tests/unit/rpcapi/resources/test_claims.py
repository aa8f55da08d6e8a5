# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of claims."""

import pytest

from rpcapi import errors
from rpcapi.resources.claims import CLAIM_REFUSALS, Answer, ClaimState, GroupPolicy, Verdict


def test_each_state_can_be_an_answer():
    assert set(ClaimState) <= set(Answer)


def test_each_answer_that_ends_or_denies_a_claim_is_reported_as_an_error():
    # REFUSED has verdicts, from which NoValidHost is made; POSSIBLE refuses nothing; UNVERIFIED answers only audits.
    assert set(CLAIM_REFUSALS) == set(Answer) - {
        Answer.PREPARED,
        Answer.REFUSED,
        Answer.POSSIBLE,
        Answer.UNVERIFIED,
    }


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        ("unknown", errors.ClaimUnknown),
        ("foreign", errors.ClaimForeign),
        ("expired", errors.ClaimExpired),
        ("aborted", errors.ClaimEnded),
        ("released", errors.ClaimEnded),
        ("ended", errors.ClaimEnded),
        ("conflict", errors.ClaimConflict),
        ("confirmed", errors.ClaimConflict),
        ("closed", errors.ClaimClosed),
    ],
)
def test_refusal_has_its_error_and_a_reason(answer, error):
    refusal = CLAIM_REFUSALS[answer]
    assert refusal.error is error
    assert refusal.reason


def test_stored_and_sent_words_stay_the_same():
    for word in ("prepared", "confirmed", "released", "aborted", "expired"):
        assert ClaimState(word) == word
    assert [policy.value for policy in GroupPolicy] == [
        *("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"),
    ]
    assert all(verdict.value == verdict.name for verdict in Verdict)
