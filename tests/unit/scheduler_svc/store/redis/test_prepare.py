# SPDX-License-Identifier: Apache-2.0
"""Arguments of the claim script, and its answer."""

import json

from rpcapi.resources.claims import Answer, GroupPolicy, Verdict
from scheduler_svc.core.records import BatchAnswer, Candidate, ClaimBatch, ClaimGroup, Intent, IntentResult
from scheduler_svc.store.redis import prepare

SPREAD = {"h2": {"VCPU": 1}, "pool/1": {"DISK_GB": 5}}
BATCH = ClaimBatch(
    request_id="req-1",
    project="p",
    user="u",
    resources={"VCPU": 1},
    intents=[
        Intent("c1", 1, [Candidate("h1"), Candidate("h2", SPREAD, 12)], near=2),
        Intent("c2", 3, [], replaces=2, migration="m1", source_attempt=1),
    ],
    epoch=3,
    position=10,
    ttl_ms=1000,
    group=ClaimGroup("g1", GroupPolicy.AFFINITY),
    record={"driver": "filter"},
)


def test_rows_have_a_fixed_head_and_the_candidates_of_each_intent() -> None:
    rows = list(prepare.rows(BATCH))
    assert rows[:8] == ["c1", 1, 0, "", 0, 2, 2, "h1"]
    host, position, allocations = rows[8].split(" ")
    assert (host, position, json.loads(allocations)) == ("h2", "12", SPREAD)
    assert rows[9:] == ["c2", 3, 2, "m1", 1, 1, 0]


def test_common_members_complete_a_claim_document() -> None:
    arguments = prepare.arguments(BATCH, 50)
    claim = json.loads('{"schema":1' + arguments["common"] + "}")
    assert claim == {
        "schema": 1,
        "type": "INSTANCE",
        "project": "p",
        "user": "u",
        "request_id": "req-1",
        "group": {"id": "g1", "policy": "affinity", "max_per_host": 1},
    }
    assert json.loads(arguments["record"]) == {"driver": "filter", "schema": 1}
    assert json.loads(arguments["group"]) == claim["group"]


def test_batch_without_group_and_record_sends_empty_strings() -> None:
    plain = ClaimBatch("req-1", "p", "u", {}, [], 3, 10, 1000)
    arguments = prepare.arguments(plain, 50)
    assert (arguments["resources"], arguments["group"], arguments["record"]) == ("", "", "")


def test_answer_is_decoded_per_intent() -> None:
    allocations = json.dumps(SPREAD)
    raw = [1, 1, "3", "14", '{"h2":{"VCPU":1}}', "prepared", "h2", "h3 h4", "99", "FULL FITS", allocations]
    raw += ["prepared", "h1", "", "99", "FITS", '{"h1":{"VCPU":1}}']
    assert prepare.answer(BATCH, raw) == BatchAnswer(
        True,
        True,
        3,
        14,
        [
            IntentResult("c1", 1, Answer.PREPARED, "h2", ("h3", "h4"), 99, (Verdict.FULL, Verdict.FITS), SPREAD),
            # The batch's resources at the host are not repeated.
            IntentResult("c2", 3, Answer.PREPARED, "h1", (), 99, (Verdict.FITS,)),
        ],
        {"h2": {"VCPU": 1}},
    )


def test_refused_intent_has_no_host() -> None:
    raw = [0, 1, "3", "10", "{}", "refused", "", "", "", "FULL CLOSED", "", "refused", "", "", "", "", ""]
    answer = prepare.answer(BATCH, raw)
    assert not answer.accepted
    assert answer.prepared[0] == IntentResult("c1", 1, Answer.REFUSED, verdicts=(Verdict.FULL, Verdict.CLOSED))
