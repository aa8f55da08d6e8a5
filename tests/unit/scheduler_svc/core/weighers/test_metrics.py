# SPDX-License-Identifier: Apache-2.0
"""Weighted sums of metrics."""

from scheduler_svc.core.weighers import metrics
from scheduler_svc.core.weighers.options import MetricWeights, WeigherOptions
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

NODES = {
    "cool": node(metrics={"cpu.percent": 10, "heat": 20}),
    "busy": node(metrics={"cpu.percent": 90, "heat": 20}),
    "silent": node(metrics={"cpu.percent": 0}),
}


def test_number_is_the_sum_of_ratio_times_metric():
    weights = MetricWeights({"cpu.percent": -1.0, "heat": 0.5}, unavailable=-7.0)
    weigher = metrics.build(WeigherOptions(weights))
    assert raw_values(weigher, NODES) == [0, -80, -7]
    assert weigher.reads == {"compute": {"metrics.cpu.percent", "metrics.heat"}}
    assert weigher.step(request()) == 0


def test_weigher_without_settings_is_not_built():
    assert metrics.build() is None
