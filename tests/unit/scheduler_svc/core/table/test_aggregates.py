# SPDX-License-Identifier: Apache-2.0
"""Aggregates: documents of several partitions, members, metadata and cached results."""

import numpy as np
import pytest

from scheduler_svc.core.table import aggregates
from scheduler_svc.core.table.aggregates import AggregateColumns, AggregateView


def document(*members, **metadata):
    return {"hosts": list(members), "metadata": metadata}


def columns_of(**documents):
    columns = AggregateColumns(4)
    for name, value in documents.items():
        columns.put(0, name, value)
    return columns


def test_changed_document_returns_all_members_that_it_affects():
    columns = AggregateColumns(1)
    assert columns.put(0, "x", document("a", "b")) == {"a", "b"}
    assert columns.put(0, "x", document("b", "c")) == {"a", "b", "c"}
    assert (columns.of("a"), columns.of("c"), columns.of("a", "b", "unknown")) == (set(), {"x"}, {"x"})
    assert columns.put(0, "x", None) == {"b", "c"}
    assert (AggregateView(columns, 1).names, columns.of("a", "b", "c")) == ([], set())


def test_aggregate_has_the_members_of_all_partitions():
    columns = AggregateColumns(1)
    view = AggregateView(columns, 1)
    columns.put(0, "x", document("a", colour="red"))
    columns.put(1, "x", document("a", "b", colour="blue", rack="r1"))
    assert (columns.of("a"), columns.of("b")) == ({"x"}, {"x"})
    assert view.metadata("x") == {"colour": "red", "rack": "r1"}, "the first partition's value is used"
    columns.put(0, "x", None)
    assert (columns.of("a"), view.metadata("x")["colour"]) == ({"x"}, "blue")


def test_replaced_partition_keeps_the_documents_of_others():
    columns = AggregateColumns(1)
    columns.put(0, "x", document("a"))
    columns.put(0, "y", document("b"))
    columns.put(1, "y", document("c"))
    assert columns.replace(0, {"z": document("d")}) == {"a", "b", "c", "d"}
    assert AggregateView(columns, 1).names == ["y", "z"]
    assert [columns.of(name) for name in "abcd"] == [set(), set(), {"y"}, {"z"}]


def test_metadata_values_are_those_of_the_aggregates_with_the_key():
    view = AggregateView(columns_of(x=document(rack="r1"), y=document(), z={"hosts": []}), 4)
    assert view.metadata_values("rack") == {"x": "r1"}
    assert view.metadata("z") == {}
    with pytest.raises(KeyError):
        view.metadata("unknown")


def test_rows_are_members_until_they_are_cleared():
    columns = AggregateColumns(3)
    for row, names in enumerate((["x"], ["x", "y"], [])):
        columns.set_row(row, names)
    assert AggregateView(columns, 3).members(["y", "unknown"]).tolist() == [False, True, False]
    columns.grow(5)
    columns.clear(np.array([0]))
    view = AggregateView(columns, 5)
    assert view.members(["x", "y"]).tolist() == [False, True, False, False, False]
    assert view.of_row(1) == {"x", "y"}


@pytest.mark.parametrize(
    "change",
    [
        lambda columns: columns.put(0, "x", document("b")),
        lambda columns: columns.replace(0, {}),
        lambda columns: columns.set_row(0, ["x"]),
        lambda columns: columns.clear(np.array([0])),
    ],
)
def test_result_is_cached_until_documents_or_members_change(change):
    columns = columns_of(x=document("a"))
    results = iter(range(10))
    assert [columns.get_or_compute("key", lambda: next(results)) for _ in range(3)] == [0, 0, 0]
    assert columns.get_or_compute("other key", lambda: next(results)) == 1
    change(columns)
    assert columns.get_or_compute("key", lambda: next(results)) == 2


def test_cache_is_bounded(monkeypatch):
    monkeypatch.setattr(aggregates, "MAX_CACHED_ANSWERS", 3)
    columns = AggregateColumns(1)
    computed = []
    for key in ("a", "b", "c", "d", "a"):
        columns.get_or_compute(key, lambda key=key: computed.append(key))
    assert computed == ["a", "b", "c", "d", "a"], "the fourth result replaced the others"


def test_views_of_different_sizes_do_not_share_cached_columns():
    columns = AggregateColumns(4)
    columns.set_row(0, ["x"])
    views = [AggregateView(columns, size) for size in (2, 4)]
    sizes = [len(view.get_or_compute("x", lambda view=view: view.members(["x"]))) for view in views]
    assert sizes == [2, 4]


def test_zone_of_aggregates_has_precedence_over_reports():
    columns = columns_of(
        x=document("a", availability_zone="az1"), y=document("b", availability_zone="az2"), z=document("c")
    )
    for row, names in enumerate((["x"], ["y"], ["z"], [])):
        columns.set_row(row, names)
    view = AggregateView(columns, 4)
    # All rows report az1: that counts for the rows whose aggregates have no zone.
    assert view.in_zone("az1", lambda: np.ones(4, bool)).tolist() == [True, False, True, True]
    assert view.in_zone("az2", lambda: np.zeros(4, bool)).tolist() == [False, True, False, False]


def test_reports_decide_without_zones_of_aggregates():
    view = AggregateView(columns_of(x=document("a", rack="r1")), 2)
    assert view.in_zone("az1", lambda: np.array([True, False])).tolist() == [True, False]
