# SPDX-License-Identifier: Apache-2.0
"""Limits on the number of I/O operations."""

import pytest

from scheduler_svc.core.matching.options import FilterOptions
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, make_nodes, make_table, passing_hosts, run_filter

NODES = {
    **make_nodes("few", metrics={"io_ops": 4}),
    **make_nodes("many", metrics={"io_ops": 8}),
    **make_nodes("silent"),
}
OPTIONS = FilterOptions(max_io_ops_per_host=8)


@pytest.mark.parametrize("name", ["IoOpsFilter", "AggregateIoOpsFilter"])
def test_host_at_the_limit_is_rejected_and_a_missing_count_is_zero(name):
    table = make_table(name, NODES, options=OPTIONS)
    assert run_filter(name, table, OPTIONS) == (["few", "silent"], {"too many I/O operations": 1})


def test_aggregate_limit_overrides_the_configured_limit():
    aggregates = [aggregate("few", max_io_ops_per_host="4"), aggregate("many", max_io_ops_per_host="9")]
    assert passing_hosts("AggregateIoOpsFilter", NODES, aggregates, OPTIONS) == ["many", "silent"]
    assert passing_hosts("IoOpsFilter", NODES, aggregates, OPTIONS) == ["few", "silent"]
