# SPDX-License-Identifier: Apache-2.0
"""What two records make of one instance, and why they differ."""

import pytest

from devstack.lab.shadow.compare import DifferenceKind, compare
from devstack.lab.shadow.records import DecisionRecords
from tests.unit.devstack.lab.shadow.files import best, record, refused, write


@pytest.fixture
def of(tmp_path):
    """Compare the records given for A with those given for B."""

    def compared(a, b):
        with DecisionRecords(write(tmp_path / "a", *a)) as ours, DecisionRecords(write(tmp_path / "b", *b)) as theirs:
            return list(compare(ours, theirs))

    return compared


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        (record(), record(outcome="shadow"), DifferenceKind.SAME),
        (record(), record(hosts={"c-1": "h2"}), DifferenceKind.ELSEWHERE),
        (refused(), record(), DifferenceKind.REFUSED_BY_A),
        (record(), refused(), DifferenceKind.REFUSED_BY_B),
        (refused(), refused(), DifferenceKind.REFUSED_BY_BOTH),
        (record(), refused(hosts={}), DifferenceKind.REFUSED_BY_B),
        (refused(hosts={}), refused(hosts={}), DifferenceKind.REFUSED_BY_BOTH),
    ],
)
def test_each_instance_is_of_one_kind(of, a, b, kind):
    (one,) = of([a], [b])
    assert (one.kind, one.request_id) == (kind, "req-1")


def test_what_only_one_of_them_decided_is_told_apart(of):
    found = of([record("req-1"), record("req-2")], [record("req-2"), record("req-3", {"c-7": "h1", "c-8": "h1"})])
    assert [(one.kind, one.request_id, one.consumer) for one in found] == [
        (DifferenceKind.ONLY_IN_A, "req-1", "c-1"),
        (DifferenceKind.SAME, "req-2", "c-1"),
        (DifferenceKind.ONLY_IN_B, "req-3", "c-7"),
        (DifferenceKind.ONLY_IN_B, "req-3", "c-8"),
    ]
    more = of([record(hosts={"c-1": "h1", "c-2": "h1"})], [record(hosts={"c-2": "h1", "c-3": "h1"})])
    assert {one.consumer: one.kind for one in more} == {
        "c-1": DifferenceKind.ONLY_IN_A,
        "c-2": DifferenceKind.SAME,
        "c-3": DifferenceKind.ONLY_IN_B,
    }


def test_each_one_s_scores_tell_how_far_apart_the_choices_are(of):
    a = record(best=best(h1=3.0, h2=2.5))
    (one,) = of([a], [record(hosts={"c-1": "h2"}, best=best(h2=1.0, h1=1.0))])
    assert (one.a_scores, one.b_scores) == (pytest.approx(0.5), 0)
    assert "A scores its own +0.500 beside B's (ram +0.500)" in one.why
    assert "B scores both alike" in one.why
    assert one.sentence().startswith("req-1 c-1: another host: A h1, B h2; ")


def test_what_the_scores_do_not_tell_is_said(of):
    (one,) = of([record(best=best(h1=3.0))], [record(hosts={"c-1": "h2"})])
    assert (one.a_scores, one.b_scores) == (None, None)
    assert "B's choice is not among the 1 best of A" in one.why
    assert "B recorded no scores" in one.why


def test_a_refusal_is_explained_by_who_refused(of):
    (one,) = of([record()], [refused(reasons={"ram": 8, "disk": 2})])
    assert (one.a_host, one.why) == ("h1", "8 ram, 2 disk")
    (one,) = of([refused(why="No host named h9")], [record()])
    assert one.why == "No host named h9"
    (one,) = of([refused()], [record()])
    assert one.why == "no reason is recorded"


def test_that_they_know_different_clusters_is_said(of):
    a, b = record(), refused(reasons={"ram": 8})
    a["hosts"], b["hosts"] = 10, 8
    (one,) = of([a], [b])
    assert one.why.endswith("they looked at 8 and 10 hosts")
