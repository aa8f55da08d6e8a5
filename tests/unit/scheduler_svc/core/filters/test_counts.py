# SPDX-License-Identifier: Apache-2.0
"""Filters by reported counts, with configured limits and limits of aggregates."""

from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.records import LogEntry
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, make_nodes, make_table, passing_hosts, run_filter

NODES = {
    **make_nodes("few", metrics={"instances": 4, "io_ops": 4}),
    **make_nodes("many", metrics={"instances": 8, "io_ops": 8}),
    **make_nodes("silent"),
}
OPTIONS = FilterOptions(max_io_ops_per_host=8, max_instances_per_host=8)


def test_limit_zero_rejects_all_hosts():
    assert passing_hosts("IoOpsFilter", NODES, options=FilterOptions(max_io_ops_per_host=0)) == []


def test_smallest_limit_of_several_aggregates_applies():
    key = "max_io_ops_per_host"
    aggregates = [
        aggregate("few", **{key: "4"}),
        aggregate("few", "many", **{key: "9"}),
        aggregate("few", **{key: "6"}),
    ]
    assert passing_hosts("AggregateIoOpsFilter", NODES, aggregates, OPTIONS) == ["many", "silent"]


def test_invalid_aggregate_limit_falls_back_to_the_configured_limit():
    key = "max_instances_per_host"
    aggregates = [aggregate("few", "many", **{key: "100"}), aggregate("many", **{key: "a lot"})]
    assert passing_hosts("AggregateNumInstancesFilter", NODES, aggregates, OPTIONS) == ["few", "silent"]


def test_changed_aggregate_limit_applies_immediately():
    table = make_table("AggregateIoOpsFilter", NODES, [aggregate("few", max_io_ops_per_host="9")], OPTIONS)
    assert run_filter("AggregateIoOpsFilter", table, OPTIONS) == (["few", "silent"], {"too many I/O operations": 1})
    table.apply(LogEntry(101, "state", {"aggregate": {"a0": aggregate("few", max_io_ops_per_host="4")}}))
    assert run_filter("AggregateIoOpsFilter", table, OPTIONS)[0] == ["silent"]
