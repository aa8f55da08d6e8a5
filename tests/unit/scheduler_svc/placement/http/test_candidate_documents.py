# SPDX-License-Identifier: Apache-2.0
"""The answer of a query for candidates is written within its time, or not at all."""

import itertools

import numpy as np
import orjson
import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.core.provider_uuids import uuids_of
from scheduler_svc.placement.http.candidate_documents import CandidateDocuments
from scheduler_svc.placement.model.candidates.contents import Legend, ProviderContents
from scheduler_svc.placement.model.candidates.deadline import STEPS_BETWEEN_CHECKS, Deadline
from scheduler_svc.placement.model.candidates.request import CandidateList
from scheduler_svc.placement.model.problems import Problem

COUNT = 3 * STEPS_BETWEEN_CHECKS
IDS = [f"h{number}" for number in range(COUNT)]
REQUEST = TreeRequest([RequestGroup("", {"VCPU": 1})])
LATEST = 39


def contents(rows):
    """Return roots with 4 VCPU each."""
    ids = [IDS[row] for row in rows]
    numbers = np.array([[4] * len(ids), [0] * len(ids)])
    return ProviderContents(np.array(rows), ids, [None] * len(ids), ids, numbers, Legend(("VCPU",), ()))


def answer(is_bare):
    providers = [contents(range(COUNT // 2)), contents(range(COUNT // 2, COUNT))]
    if is_bare:
        return CandidateList(providers)
    return CandidateList([], [AllocationCandidate({name: {"VCPU": 1}}, {"": (name,)}) for name in IDS], providers)


def to_json(candidates, deadline, *, is_limited):
    return CandidateDocuments().to_json(candidates, REQUEST, LATEST, deadline, is_limited=is_limited)


def late_after(readings):
    """Return a deadline that has passed after some readings of its clock."""
    times = itertools.chain(itertools.repeat(0.0, readings + 1), itertools.repeat(2.0))
    return Deadline(1.0, times.__next__)


@pytest.mark.parametrize("is_bare", [True, False])
def test_answer_in_time_is_whole(is_bare):
    document = orjson.loads(to_json(answer(is_bare), late_after(1000), is_limited=False))
    assert len(document["allocation_requests"]) == len(document["provider_summaries"]) == COUNT


@pytest.mark.parametrize(
    ("is_bare", "readings"),
    [
        (False, 0),  # before the first request
        (False, 2),  # among the requests
        (False, 3),  # before the summaries
        (False, 4),  # among them
        (True, 0),
        (True, 1),
    ],
)
def test_time_that_ends_while_it_is_written_is_503(is_bare, readings):
    with pytest.raises(Problem, match="within 1 s") as caught:
        to_json(answer(is_bare), late_after(readings), is_limited=False)
    assert caught.value.status == 503


def test_limited_answer_has_the_candidates_that_could_be_written():
    # A clock that is past the time for requests at its third reading, and past no other
    deadline = Deadline(1.0, iter([0.0, 0.5, 0.5, *[0.9] * 1000]).__next__)
    document = orjson.loads(to_json(answer(False), deadline, is_limited=True))
    assert len(document["allocation_requests"]) == 2 * STEPS_BETWEEN_CHECKS
    assert document["provider_summaries"].keys() == set(uuids_of(IDS))


@pytest.mark.parametrize("readings", [0, 3, 4])
def test_limited_answer_without_a_candidate_or_with_half_a_summary_is_503(readings):
    with pytest.raises(Problem):
        to_json(answer(False), late_after(readings), is_limited=True)
