# SPDX-License-Identifier: Apache-2.0
"""The answer of a query for candidates is written within its time, or not at all."""

import itertools

import orjson
import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.endpoints.placement.candidate_documents import to_json
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.placement.candidates.deadline import STEPS_BETWEEN_CHECKS, Deadline
from scheduler_svc.placement.candidates.request import CandidateList, ClassSummary, ProviderSummaries
from scheduler_svc.placement.identities import uuids_of
from scheduler_svc.placement.problems import Problem

COUNT = 3 * STEPS_BETWEEN_CHECKS
IDS = [f"h{number}" for number in range(COUNT)]
REQUEST = TreeRequest([RequestGroup("", {"VCPU": 1})])
LATEST = Microversion(1, 39)


def answer(is_bare):
    providers = ProviderSummaries()
    providers.ids.extend(IDS)
    providers.roots.extend(IDS)
    providers.parents.extend([None] * COUNT)
    providers.traits.extend([[]] * COUNT)
    providers.classes.append(ClassSummary("VCPU", list(range(COUNT)), [4] * COUNT, [0] * COUNT))
    if is_bare:
        return CandidateList(IDS, [], providers)
    return CandidateList([], [AllocationCandidate({name: {"VCPU": 1}}, {"": (name,)}) for name in IDS], providers)


def late_after(readings):
    """Return a deadline that has passed after some readings of its clock."""
    times = itertools.chain(itertools.repeat(0.0, readings + 1), itertools.repeat(2.0))
    return Deadline(1.0, times.__next__)


@pytest.mark.parametrize("is_bare", [True, False])
def test_answer_in_time_is_whole(is_bare):
    document = orjson.loads(to_json(answer(is_bare), REQUEST, LATEST, late_after(1000), is_limited=False))
    assert len(document["allocation_requests"]) == len(document["provider_summaries"]) == COUNT


@pytest.mark.parametrize(
    ("is_bare", "readings"),
    [
        (False, 0),  # before the first request
        (False, 2),  # among the requests
        (False, 3),  # before the summaries
        (False, 5),  # among them
        (True, 0),
        (True, 2),
    ],
)
def test_time_that_ends_while_it_is_written_is_503(is_bare, readings):
    with pytest.raises(Problem, match="stopped after 1 s") as caught:
        to_json(answer(is_bare), REQUEST, LATEST, late_after(readings), is_limited=False)
    assert caught.value.status == 503


def test_limited_answer_has_the_candidates_that_could_be_written():
    # A clock that is past the time for requests at its third reading, and past no other
    deadline = Deadline(1.0, iter([0.0, 0.5, 0.5, *[0.9] * 1000]).__next__)
    document = orjson.loads(to_json(answer(False), REQUEST, LATEST, deadline, is_limited=True))
    assert len(document["allocation_requests"]) == 2 * STEPS_BETWEEN_CHECKS
    assert document["provider_summaries"].keys() == set(uuids_of(IDS))


@pytest.mark.parametrize("readings", [0, 4, 5])
def test_limited_answer_without_a_candidate_or_with_half_a_summary_is_503(readings):
    with pytest.raises(Problem):
        to_json(answer(False), REQUEST, LATEST, late_after(readings), is_limited=True)
