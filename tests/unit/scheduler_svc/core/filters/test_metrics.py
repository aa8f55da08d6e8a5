# SPDX-License-Identifier: Apache-2.0
"""Hosts that must report metrics."""

from scheduler_svc.core.filters import metrics
from scheduler_svc.core.matching.options import FilterOptions
from tests.unit.scheduler_svc.core.filters.cloud import make_nodes, make_table, run_filter

NODES = {
    **make_nodes("both", metrics={"heat": 3, "load": 0}),
    **make_nodes("one", metrics={"heat": 3}),
    **make_nodes("silent"),
}


def test_hosts_without_a_required_metric_are_rejected():
    options = FilterOptions(metrics=("heat", "load"))
    table = make_table("MetricsFilter", NODES, options=options)
    reasons = {"metric heat not reported": 1, "metric load not reported": 1}
    assert run_filter("MetricsFilter", table, options) == (["both"], reasons)


def test_metrics_are_in_reads():
    assert metrics.build(FilterOptions(metrics=("heat",))).reads == {"compute": {"metrics.heat"}}


def test_no_metric_is_required_by_default():
    assert run_filter("MetricsFilter", make_table("MetricsFilter", NODES))[0] == list(NODES)
