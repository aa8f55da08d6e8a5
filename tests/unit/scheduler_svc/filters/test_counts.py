# SPDX-License-Identifier: Apache-2.0
"""Limits on what hosts count of themselves: configured, and set by aggregates."""

import pytest

from scheduler_svc.filters.options import Options
from scheduler_svc.store.records import Entry
from tests.unit.scheduler_svc.filters.cloud import aggregate, passes, passing, table, telling

NODES = {
    **telling("few", metrics={"instances": 4, "io_ops": 4}),
    **telling("many", metrics={"instances": 8, "io_ops": 8}),
    **telling("silent"),
}
OPTIONS = Options(max_io_ops_per_host=8, max_instances_per_host=8)


@pytest.mark.parametrize("name", ["IoOpsFilter", "NumInstancesFilter", "AggregateIoOpsFilter"])
def test_a_host_that_has_reached_the_limit_falls_and_one_that_tells_nothing_has_none(name):
    assert passing(name, NODES, options=OPTIONS) == ["few", "silent"]


def test_no_host_passes_a_limit_of_none():
    assert passing("IoOpsFilter", NODES, options=Options(max_io_ops_per_host=0)) == []


def test_the_least_of_several_aggregates_counts():
    key = "max_io_ops_per_host"
    aggregates = [
        aggregate("few", **{key: "4"}),
        aggregate("few", "many", **{key: "9"}),
        aggregate("few", **{key: "6"}),
    ]
    assert passing("AggregateIoOpsFilter", NODES, aggregates, OPTIONS) == ["many", "silent"]


def test_where_one_aggregate_sets_no_number_the_configured_limit_counts():
    key = "max_instances_per_host"
    aggregates = [aggregate("few", "many", **{key: "100"}), aggregate("many", **{key: "a lot"})]
    assert passing("AggregateNumInstancesFilter", NODES, aggregates, OPTIONS) == ["few", "silent"]


def test_a_limit_that_changes_counts_at_once():
    held = table("AggregateIoOpsFilter", NODES, [aggregate("few", max_io_ops_per_host="9")], OPTIONS)
    assert passes("AggregateIoOpsFilter", held, OPTIONS) == (["few", "silent"], {"too many I/O operations": 1})
    held.apply(Entry(101, "state", {"aggregate": {"a0": aggregate("few", max_io_ops_per_host="4")}}))
    assert passes("AggregateIoOpsFilter", held, OPTIONS)[0] == ["silent"]
