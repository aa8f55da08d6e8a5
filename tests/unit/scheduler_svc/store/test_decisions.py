# SPDX-License-Identifier: Apache-2.0
"""The store's part of a decision record."""

from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import BatchAnswer, Candidate, ClaimBatch, Intent, IntentResult
from scheduler_svc.store import decisions

BATCH = ClaimBatch(
    request_id="req-1",
    project="p",
    user="u",
    resources={"VCPU": 1},
    intents=[
        Intent("c1", 1, [Candidate("h1"), Candidate("h2"), Candidate("h3")]),
        Intent("c2", 1, [Candidate("h2")]),
    ],
    epoch=3,
    position=10,
    ttl_ms=1000,
)


def test_each_tried_candidate_is_recorded_with_its_verdict() -> None:
    prepared = [
        IntentResult("c1", 1, Answer.PREPARED, "h2", ("h3",), 99, (Verdict.FULL, Verdict.FITS)),
        IntentResult("c2", 1, Answer.PREPARED, "h2", (), 99, (Verdict.FITS,)),
    ]
    assert decisions.outcome(BATCH, BatchAnswer(True, True, 3, 12, prepared)) == {
        "outcome": "selected",
        "answered_position": 12,
        "verdicts": [
            {"consumer": "c1", "answer": "prepared", "host": "h2", "tried": [["h1", "FULL"], ["h2", "FITS"]]},
            {"consumer": "c2", "answer": "prepared", "host": "h2", "tried": [["h2", "FITS"]]},
        ],
    }


def test_repeated_answer_without_verdicts_has_no_tried_candidates() -> None:
    answer = BatchAnswer(False, True, 3, 12, [IntentResult("c2", 1, Answer.ENDED)])
    recorded = decisions.outcome(BATCH, answer)
    assert recorded["outcome"] == "refused"
    assert recorded["verdicts"] == [{"consumer": "c2", "answer": "ended", "host": None, "tried": []}]
