# SPDX-License-Identifier: Apache-2.0
"""Comparisons of gantt's hosts with Nova's."""

import numpy as np
import pytest

from scheduler_svc.core.filtering.survey import ABSENT, PASSED, HostSurvey
from scheduler_svc.nova.shadow.comparison import NamedRow, ShadowOutcome, compare
from scheduler_svc.nova.shadow.decisions import ShadowDecision

ROWS = {"best": 0, "twin": 1, "worse": 2, "full": 3, "volume": 4}
SURVEY = HostSurvey(
    ["not enough VCPU"],
    np.array([PASSED, PASSED, PASSED, 0, ABSENT], np.int16),
    np.array([2.0, 2.0, 1.0, np.nan, np.nan], np.float32),
)
COUNTED = {"reasons": {"not enough VCPU": 1}}


def find(name):
    return NamedRow(ROWS.get(name), name)


def outcomes(gantt, nova, survey=SURVEY, why="", document=COUNTED):
    count = max(len(gantt), len(nova), 1)
    consumers = [f"c{number}" for number in range(count)]
    decision = ShadowDecision("req-1", consumers, gantt, why, frozenset(), survey, document)
    comparisons = compare(decision, nova, find)
    assert [comparison.consumer for comparison in comparisons] == consumers
    return [(comparison.outcome, comparison.why) for comparison in comparisons]


@pytest.mark.parametrize(
    ("gantt", "nova", "expected"),
    [
        ("best", "best", (ShadowOutcome.SAME, "")),
        ("best", "twin", (ShadowOutcome.EQUAL, "rank 1 of 3")),
        ("best", "worse", (ShadowOutcome.OTHER, "rank 3 of 3")),
        ("best", "full", (ShadowOutcome.REFUSED_HOST, "not enough VCPU")),
        ("best", "volume", (ShadowOutcome.REFUSED_HOST, "not among the hosts")),
        ("best", "unknown", (ShadowOutcome.REFUSED_HOST, "not among the hosts")),
        ("best", None, (ShadowOutcome.REFUSED_BY_NOVA, "")),
        (None, "full", (ShadowOutcome.REFUSED_BY_GANTT, "not enough VCPU")),
        # Each host passes by itself, but the request as a whole does not.
        (None, "best", (ShadowOutcome.REFUSED_BY_GANTT, "1 not enough VCPU")),
        (None, None, (ShadowOutcome.REFUSED_BY_BOTH, "1 not enough VCPU")),
    ],
)
def test_one_instance(gantt, nova, expected):
    assert outcomes([gantt] if gantt else [], [nova] if nova else []) == [expected]


def test_request_that_was_refused_without_a_look_at_hosts_has_the_sentence():
    assert outcomes([], ["best"], None, "the state is too old", {}) == [
        (ShadowOutcome.REFUSED_BY_GANTT, "the state is too old")
    ]


def test_hosts_of_several_instances_are_matched_in_any_order():
    assert outcomes(["best", "twin", "best"], ["twin", "best", "worse"]) == [
        (ShadowOutcome.SAME, ""),
        (ShadowOutcome.SAME, ""),
        (ShadowOutcome.OTHER, "rank 3 of 3"),
    ]


def test_driver_without_scores_has_no_ranks():
    survey = HostSurvey(SURVEY.reasons, SURVEY.codes)
    assert outcomes(["best"], ["worse"], survey) == [(ShadowOutcome.OTHER, "one of 3")]
