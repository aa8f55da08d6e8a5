# SPDX-License-Identifier: Apache-2.0
"""Weighing by reported metrics: Nova's MetricsWeigher and MetricsFilter."""

from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf import metrics
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request

NODES = {
    "cool": node(metrics={"cpu.percent": 10, "heat": 20}),
    "hot": node(metrics={"cpu.percent": 10, "heat": 80}),
    "busy": node(metrics={"cpu.percent": 90, "heat": 20}),
    "silent": node(metrics={"cpu.percent": 0}),
}


def configure(conf, **options):
    scheduler_conf.register_opts(conf)
    for name, value in options.items():
        group = "metrics" if name in ("weight_setting", "required") else "filter_scheduler"
        conf.set_override(name, value, group=group)
    return conf


def best(conf):
    driver = drivers.filter_driver(conf)
    table = hosts.table(NODES, reads=driver.reads)
    with table.reading() as view:
        ranking = driver.rank(view, request(), 1, 5)
    return ranking.candidates[0], ranking.reasons


def test_hosts_are_ranked_by_metrics_and_a_host_without_them_is_rejected(conf):
    configure(
        conf,
        weight_setting=["cpu.percent=-1", "heat=-0.1"],
        enabled_filters=["ComputeFilter", "MetricsFilter"],
        enabled_weighers=["MetricsWeigher"],
    )
    metrics.check(conf)
    assert best(conf) == (["cool", "hot", "busy"], {"metric heat not reported": 1})


def test_host_without_metrics_comes_last_if_metrics_are_not_required(conf):
    configure(conf, weight_setting=["heat=-1"], required=False, enabled_weighers=["MetricsWeigher"])
    metrics.check(conf)
    candidates, reasons = best(conf)
    assert (candidates[-1], reasons) == ("silent", {})
