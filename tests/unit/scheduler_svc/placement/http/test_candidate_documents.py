# SPDX-License-Identifier: Apache-2.0
"""The answer of a query for candidates is written within its time, or not at all."""

import itertools
from dataclasses import replace

import numpy as np
import orjson
import pytest

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.core.provider_uuids import uuids_of
from scheduler_svc.placement.http.candidate_documents import CandidateDocuments, RootTexts
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


def roots_of(ids, used):
    """Return roots with 4 VCPU each, in rows of their order."""
    numbers = np.array([[4] * len(ids), used])
    return ProviderContents(np.arange(len(ids)), ids, [None] * len(ids), ids, numbers, Legend(("VCPU",), ()))


def summaries(texts):
    return [next(iter(orjson.loads(b"{%b}" % text).values())) for text in texts]


def test_only_changed_roots_are_written_again():
    texts = RootTexts()
    before_uuids, before = texts.of(roots_of(["a", "b", "c"], [1, 1, 1]))
    after_uuids, after = texts.of(roots_of(["a", "d", "c"], [1, 1, 2]))
    assert after[0] is before[0]
    assert after_uuids[0] is before_uuids[0]
    assert after_uuids[1] != before_uuids[1]
    assert after[1].startswith(b'"%b"' % after_uuids[1].encode())
    assert [entry["resources"]["VCPU"]["used"] for entry in summaries(after)] == [1, 1, 2]


def test_some_roots_are_written_as_among_all():
    texts = RootTexts()
    roots = roots_of(["a", "b", "c"], [1, 2, 3])
    uuids, every = texts.of(roots)
    some = roots.at(np.array([2, 0]))
    assert texts.of(some) == ([uuids[2], uuids[0]], [every[2], every[0]])
    assert RootTexts().of(some) == texts.of(some)


def test_the_same_numbers_may_come_to_mean_something_else():
    texts = RootTexts()
    roots = roots_of(["a"], [1])
    texts.of(roots)
    _, (text,) = texts.of(replace(roots, legend=Legend(("MEMORY_MB",), ())))
    assert b"VCPU" not in text


def test_no_roots_have_no_texts():
    assert RootTexts().of(roots_of([], [])) == ([], [])


def test_new_meanings_take_no_more_memory():
    texts = RootTexts()
    roots = roots_of(["a", "b"], [1, 1])
    for number in range(30):
        texts.of(replace(roots, legend=Legend(("VCPU",), (f"CUSTOM_{number}",))))
    assert len(texts._summaries) <= 2 * len(roots.ids)
