# SPDX-License-Identifier: Apache-2.0
"""Comparison of two decision records, and the reasons for differences."""

import pytest

from devstack.lab.shadow.compare import DifferenceKind, compare
from devstack.lab.shadow.records import DecisionRecords
from tests.unit.devstack.lab.shadow.files import best, record, refused, write


@pytest.fixture
def compare_records(tmp_path):
    """Return a function that compares A's records with B's."""

    def compared(a, b):
        with (
            DecisionRecords(write(tmp_path / "a", *a)) as a_records,
            DecisionRecords(write(tmp_path / "b", *b)) as b_records,
        ):
            return list(compare(a_records, b_records))

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
def test_comparison_has_the_kind_of_difference(compare_records, a, b, kind):
    (comparison,) = compare_records([a], [b])
    assert (comparison.kind, comparison.request_id) == (kind, "req-1")


def test_instances_in_one_record_only_are_reported(compare_records):
    comparisons = compare_records(
        [record("req-1"), record("req-2")], [record("req-2"), record("req-3", {"c-7": "h1", "c-8": "h1"})]
    )
    assert [(comparison.kind, comparison.request_id, comparison.consumer) for comparison in comparisons] == [
        (DifferenceKind.ONLY_IN_A, "req-1", "c-1"),
        (DifferenceKind.SAME, "req-2", "c-1"),
        (DifferenceKind.ONLY_IN_B, "req-3", "c-7"),
        (DifferenceKind.ONLY_IN_B, "req-3", "c-8"),
    ]
    comparisons = compare_records(
        [record(hosts={"c-1": "h1", "c-2": "h1"})], [record(hosts={"c-2": "h1", "c-3": "h1"})]
    )
    assert {comparison.consumer: comparison.kind for comparison in comparisons} == {
        "c-1": DifferenceKind.ONLY_IN_A,
        "c-2": DifferenceKind.SAME,
        "c-3": DifferenceKind.ONLY_IN_B,
    }


def test_score_margins_of_both_sides_are_reported(compare_records):
    a = record(best=best(h1=3.0, h2=2.5))
    (comparison,) = compare_records([a], [record(hosts={"c-1": "h2"}, best=best(h2=1.0, h1=1.0))])
    assert (comparison.a_scores, comparison.b_scores) == (pytest.approx(0.5), 0)
    assert "A scores its own +0.500 beside B's (ram +0.500)" in comparison.why
    assert "B scores both alike" in comparison.why
    assert comparison.sentence().startswith("req-1 c-1: another host: A h1, B h2; ")


def test_missing_scores_are_reported(compare_records):
    (comparison,) = compare_records([record(best=best(h1=3.0))], [record(hosts={"c-1": "h2"})])
    assert (comparison.a_scores, comparison.b_scores) == (None, None)
    assert "B's choice is not among the 1 best of A" in comparison.why
    assert "B recorded no scores" in comparison.why


def test_refusal_reason_comes_from_the_refusing_record(compare_records):
    (comparison,) = compare_records([record()], [refused(reasons={"ram": 8, "disk": 2})])
    assert (comparison.a_host, comparison.why) == ("h1", "8 ram, 2 disk")
    (comparison,) = compare_records([refused(why="No host named h9")], [record()])
    assert comparison.why == "No host named h9"
    (comparison,) = compare_records([refused()], [record()])
    assert comparison.why == "no reason is recorded"


def test_different_host_counts_are_reported(compare_records):
    a, b = record(), refused(reasons={"ram": 8})
    a["hosts"], b["hosts"] = 10, 8
    (comparison,) = compare_records([a], [b])
    assert comparison.why.endswith("they looked at 8 and 10 hosts")
