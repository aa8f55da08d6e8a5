# SPDX-License-Identifier: Apache-2.0
"""Aggregates restricted to projects."""

import pytest

from scheduler_svc.core.records import LogEntry
from tests.unit.scheduler_svc.core.filters.cloud import (
    aggregate,
    make_nodes,
    make_table,
    passing_hosts,
    run_filter,
    two_aggregates,
)

NODES = make_nodes("one", "both", "two", "none")


@pytest.mark.parametrize(
    ("project", "expected"),
    [("p1", ["one", "both", "none"]), ("p3", ["both", "two", "none"]), ("p9", ["none"]), ("", ["none"])],
)
def test_project_isolation_accepts_only_hosts_for_the_project(project, expected):
    aggregates = two_aggregates(filter_tenant_id=("p1 , p2", "p3"))
    assert passing_hosts("AggregateMultiTenancyIsolation", NODES, aggregates, project=project) == expected


def test_projects_of_all_keys_with_the_prefix_are_accepted():
    aggregates = [aggregate("one", filter_tenant_id="p1", filter_tenant_id_more="p2", rack="r1")]
    assert passing_hosts("AggregateMultiTenancyIsolation", NODES, aggregates, project="p2") == list(NODES)
    assert passing_hosts("AggregateMultiTenancyIsolation", NODES, [aggregate("one", rack="r1")], project="p2") == list(
        NODES
    )


def test_cached_result_is_recomputed_when_an_aggregate_changes():
    name = "AggregateMultiTenancyIsolation"
    table = make_table(name, NODES, [aggregate("one", filter_tenant_id="p1")])
    assert run_filter(name, table, project="p2") == (["both", "two", "none"], {"aggregates of other projects": 1})
    table.apply(LogEntry(101, "state", {"aggregate": {"a0": aggregate("two", filter_tenant_id="p1")}}))
    assert run_filter(name, table, project="p2")[0] == ["one", "both", "none"]
    table.apply(LogEntry(102, "state", {"aggregate": {"a0": None}}))
    assert run_filter(name, table, project="p2")[0] == list(NODES)
