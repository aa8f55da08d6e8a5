# SPDX-License-Identifier: Apache-2.0
"""The vocabulary of claims."""

from rpcapi.resources.claims import REFUSAL_REASONS, Answer, ClaimState, GroupPolicy, Verdict


def test_each_state_can_be_an_answer():
    assert set(ClaimState) <= set(Answer)


def test_each_answer_that_ends_or_denies_a_claim_has_a_reason():
    # REFUSED has verdicts, from which NoValidHost is made; POSSIBLE refuses nothing; UNVERIFIED answers only audits.
    assert {answer for answer, reason in REFUSAL_REASONS.items() if reason} == set(Answer) - {
        Answer.PREPARED,
        Answer.REFUSED,
        Answer.POSSIBLE,
        Answer.UNVERIFIED,
    }


def test_stored_and_sent_words_stay_the_same():
    for word in ("prepared", "confirmed", "released", "aborted", "expired"):
        assert ClaimState(word) == word
    assert [policy.value for policy in GroupPolicy] == [
        *("affinity", "anti-affinity", "soft-affinity", "soft-anti-affinity"),
    ]
    assert all(verdict.value == verdict.name for verdict in Verdict)
