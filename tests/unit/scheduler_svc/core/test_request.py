# SPDX-License-Identifier: Apache-2.0
"""The scheduling request, and what the scheduler adds to it."""

import dataclasses

import pytest

from scheduler_svc.core.request import DecisionContext, SchedulingRequest

REQUEST = SchedulingRequest("req-1", {"VCPU": 1})


def test_changed_decision_context_leaves_the_original_request_unchanged():
    changed = REQUEST.with_decision(partition="west").with_decision(members={"h1": 2})
    assert changed.decision == DecisionContext(partition="west", members={"h1": 2})
    assert REQUEST.decision == DecisionContext()
    assert dataclasses.replace(changed, decision=REQUEST.decision) == REQUEST


def test_requests_and_decision_contexts_cannot_be_modified():
    with pytest.raises(dataclasses.FrozenInstanceError):
        REQUEST.driver = "filter"
    with pytest.raises(dataclasses.FrozenInstanceError):
        REQUEST.decision.partition = "west"


def test_record_has_the_additions_of_prefilters_and_nothing_else_of_the_decision():
    additions = {"isolate_aggregates": {"forbidden_aggregates": ["gold"]}}
    changed = REQUEST.with_decision(rewritten=additions, partition="west", members={"h1": 2}, excluded_hosts=("h1",))
    assert changed.as_dict() == {"resources": {"VCPU": 1}, "rewritten": additions}
