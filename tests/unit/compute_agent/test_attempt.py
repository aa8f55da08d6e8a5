# SPDX-License-Identifier: Apache-2.0
"""Attempts: their journalled form, their end, and their groups."""

import json
from dataclasses import replace

import pytest

from compute_agent.attempt import Attempt, ClaimEnd, Stage, group_by_request
from compute_agent.newer_state import NewerState
from rpcapi.resources.statuses import AttemptResult
from tests.support.agent.rig import HOST

NODE = f"{HOST}/node0"


def test_journal_omits_empty_fields_so_that_older_agents_read_the_others() -> None:
    flat = Attempt("a", 1, Stage.SPAWNED, 0, name=NODE, allocations={NODE: {"VCPU": 1}})
    assert flat.as_dict().keys() == {"uuid", "attempt", "stage", "at_ms", "name", "allocations", "claim_end"}
    assert Attempt.from_dict(flat.as_dict()) == flat
    pinned = replace(flat, assignments={"numa": {"cells": []}})
    assert Attempt.from_dict(pinned.as_dict()) == pinned


LIVE = Attempt(
    uuid="a",
    attempt=2,
    stage=Stage.SPAWNED,
    at_ms=5,
    request_id="req-1",
    name=NODE,
    allocations={NODE: {"VCPU": 1}},
    assignments={"numa": {"cells": []}},
    owner={"project": "p"},
    reported=True,
)


def test_ended_attempt_holds_nothing_but_keeps_its_owner() -> None:
    ended = LIVE.to_ended(AttemptResult.FAILED, "it broke", ClaimEnd.RELEASE, 9)
    assert (LIVE.live, ended.live) == (True, False)
    assert (ended.allocations, ended.assignments, ended.owner) == ({}, {}, {"project": "p"})
    assert (ended.outcome, ended.reason, ended.claim_end, ended.at_ms) == ("failed", "it broke", "release", 9)
    assert ended.ref == ("a", 2)
    assert not ended.reported, "the conductor has not heard of the end"


def test_end_belongs_to_the_latest_message_about_the_attempt() -> None:
    end = (AttemptResult.GONE, "", ClaimEnd.NOTHING, 9)
    assert LIVE.to_ended(*end).request_id == "req-1"
    assert LIVE.to_ended(*end, "req-2").request_id == "req-2"


def test_first_outcome_is_a_refusal_and_a_later_end_is_gone() -> None:
    assert replace(LIVE, reported=False).outcome_if_ended == "refused"
    assert LIVE.outcome_if_ended == "gone"


@pytest.mark.parametrize("attempt", [LIVE, LIVE.to_ended(AttemptResult.REFUSED, "full", ClaimEnd.ABORT, 9)])
def test_journalled_form_is_json_and_reads_back(attempt: Attempt) -> None:
    restored = Attempt.from_dict(json.loads(json.dumps(attempt.as_dict())))
    assert restored == attempt
    assert (type(restored.stage), type(restored.claim_end)) == (Stage, ClaimEnd)


@pytest.mark.parametrize(
    "change",
    [
        {"stage": "flying"},
        {"claim_end": "none"},
        {"outcome": "fine"},
        {"unknown_field": 1},
        {"copy": {"unknown": 1}},
    ],
)
def test_document_of_a_newer_agent_is_rejected(change: dict[str, object]) -> None:
    with pytest.raises(NewerState, match=r"attempt 2 of a[:,] "):
        Attempt.from_dict({**LIVE.as_dict(), **change})


@pytest.mark.parametrize("change", [{"stage": None}, {"claim_end": 5}, {"outcome": ["active"]}])
def test_malformed_document_is_rejected(change: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Attempt.from_dict({**LIVE.as_dict(), **change})


@pytest.mark.parametrize("missing", ["uuid", "stage", "claim_end"])
def test_incomplete_document_is_rejected(missing: str) -> None:
    document = LIVE.as_dict()
    del document[missing]
    with pytest.raises((ValueError, TypeError, KeyError)):
        Attempt.from_dict(document)


def test_attempts_are_grouped_by_request_in_order() -> None:
    first, second, third = (replace(LIVE, uuid=uuid, request_id=request) for uuid, request in ("ar", "bs", "cr"))
    assert group_by_request([first, second, third]) == {"r": [first, third], "s": [second]}
