# SPDX-License-Identifier: Apache-2.0
"""Limits on the number of instances."""

import pytest

from scheduler_svc.core.matching.options import FilterOptions
from tests.unit.scheduler_svc.core.filters.cloud import aggregate, make_nodes, make_table, passing_hosts, run_filter

NODES = {
    **make_nodes("few", metrics={"instances": 4}),
    **make_nodes("many", metrics={"instances": 8}),
    **make_nodes("silent"),
}
OPTIONS = FilterOptions(max_instances_per_host=8)


@pytest.mark.parametrize("name", ["NumInstancesFilter", "AggregateNumInstancesFilter"])
def test_host_at_the_limit_is_rejected_and_a_missing_count_is_zero(name):
    table = make_table(name, NODES, options=OPTIONS)
    assert run_filter(name, table, OPTIONS) == (["few", "silent"], {"too many instances": 1})


def test_aggregate_limit_overrides_the_configured_limit():
    aggregates = [aggregate("few", max_instances_per_host="4"), aggregate("many", max_instances_per_host="9")]
    assert passing_hosts("AggregateNumInstancesFilter", NODES, aggregates, OPTIONS) == ["many", "silent"]
    assert passing_hosts("NumInstancesFilter", NODES, aggregates, OPTIONS) == ["few", "silent"]
