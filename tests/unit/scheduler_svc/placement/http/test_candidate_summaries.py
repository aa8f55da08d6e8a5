# SPDX-License-Identifier: Apache-2.0
"""Summaries of roots are written again where what they say has changed, and only there."""

from dataclasses import replace

import numpy as np
import orjson

from scheduler_svc.placement.http.candidate_documents import RootTexts
from scheduler_svc.placement.model.candidates.contents import Legend, ProviderContents


def contents(ids, used):
    """Return roots with 4 VCPU each, in rows of their order."""
    numbers = np.array([[4] * len(ids), used])
    return ProviderContents(np.arange(len(ids)), ids, [None] * len(ids), ids, numbers, Legend(("VCPU",), ()))


def summaries(texts):
    return [next(iter(orjson.loads(b"{%b}" % text).values())) for text in texts]


def test_only_changed_roots_are_written_again():
    texts = RootTexts()
    before_uuids, before = texts.of(contents(["a", "b", "c"], [1, 1, 1]))
    after_uuids, after = texts.of(contents(["a", "d", "c"], [1, 1, 2]))
    assert after[0] is before[0]
    assert after_uuids[0] is before_uuids[0]
    assert after_uuids[1] != before_uuids[1]
    assert after[1].startswith(b'"%b"' % after_uuids[1].encode())
    assert [entry["resources"]["VCPU"]["used"] for entry in summaries(after)] == [1, 1, 2]


def test_some_roots_are_written_as_among_all():
    texts = RootTexts()
    roots = contents(["a", "b", "c"], [1, 2, 3])
    uuids, every = texts.of(roots)
    some = roots.at(np.array([2, 0]))
    assert texts.of(some) == ([uuids[2], uuids[0]], [every[2], every[0]])
    assert RootTexts().of(some) == texts.of(some)


def test_the_same_numbers_may_come_to_mean_something_else():
    texts = RootTexts()
    roots = contents(["a"], [1])
    texts.of(roots)
    _, (text,) = texts.of(replace(roots, legend=Legend(("MEMORY_MB",), ())))
    assert b"VCPU" not in text


def test_no_roots_have_no_texts():
    assert RootTexts().of(contents([], [])) == ([], [])


def test_new_meanings_take_no_more_memory():
    texts = RootTexts()
    roots = contents(["a", "b"], [1, 1])
    for number in range(30):
        texts.of(replace(roots, legend=Legend(("VCPU",), (f"CUSTOM_{number}",))))
    assert len(texts._summaries) <= 2 * len(roots.ids)
