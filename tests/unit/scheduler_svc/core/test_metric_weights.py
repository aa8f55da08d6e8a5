# SPDX-License-Identifier: Apache-2.0
"""Weighing by reported metrics: Nova's MetricsWeigher and MetricsFilter, and their settings."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.composition import drivers
from scheduler_svc.conf import metrics
from scheduler_svc.core import reads
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.matching.options import FilterOptions
from scheduler_svc.core.metric_weights import MetricWeights
from scheduler_svc.core.weighers import scoring
from scheduler_svc.core.weighers.options import WeigherOptions
from tests.unit.scheduler_svc.fakes import hosts
from tests.unit.scheduler_svc.fakes.hosts import node, request

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


def test_required_keys_follow_from_filters_and_weighers(conf):
    filters, weighers = ["AvailabilityZoneFilter", "TraitsFilter"], ["RAMWeigher"]
    configure(conf, weight_setting=["heat=-1"], required=False, enabled_filters=filters, enabled_weighers=weighers)
    assert reads.required_keys(drivers.filter_driver(conf).reads) == ["availability_zone", "inventories", "traits"]
    conf.set_override("enabled_weighers", ["MetricsWeigher"], group="filter_scheduler")
    conf.set_override("enabled_filters", ["ComputeFilter"], group="filter_scheduler")
    assert reads.required_keys(drivers.filter_driver(conf).reads) == ["inventories", "metrics.heat"]


@pytest.mark.parametrize(
    ("setting", "why"),
    [
        ("heat", "'heat' is not of the form metric=ratio"),
        ("=1", "'=1'"),
        ("heat=warm", "heat=warm"),
        ("heat=nan", "heat=nan"),
    ],
)
def test_malformed_metric_setting_is_refused(conf, setting, why):
    with pytest.raises(errors.BadConfiguration, match=why):
        metrics.check(configure(conf, weight_setting=["cpu.percent=1", setting]))


def test_repeated_metric_setting_is_refused(conf):
    with pytest.raises(errors.BadConfiguration, match="or repeats a metric"):
        metrics.check(configure(conf, weight_setting=["heat=1", "heat=2"]))


def test_required_metrics_need_the_metrics_filter(conf):
    with pytest.raises(errors.BadConfiguration, match="MetricsFilter, which enforces it"):
        metrics.check(configure(conf, weight_setting=["heat=1"], enabled_weighers=["MetricsWeigher"]))


def test_every_filter_and_weigher_declares_its_reads():
    weights = MetricWeights({"heat": 1.0})
    reads_by_name = {
        component.name: component.reads
        for component in pipeline.build(pipeline.NAMES, FilterOptions(metrics=("heat",)))
    }
    reads_by_name |= {
        component.name: component.reads
        for component, _ in scoring.build(dict.fromkeys(scoring.NAMES, 1.0), WeigherOptions(weights))
    }
    assert reads_by_name["TraitsFilter"] == {"compute": {"traits"}}
    assert reads_by_name["MetricsFilter"] == reads_by_name["MetricsWeigher"] == {"compute": {"metrics.heat"}}
    assert {name for name, keys in reads_by_name.items() if not keys} == {
        "ForceHostsFilter",
        "IgnoreHostsFilter",
        "AllHostsFilter",
        "DifferentHostFilter",
        "IsolatedHostsFilter",
        "SameHostFilter",
        "ServerGroupAffinityFilter",
        "ServerGroupAntiAffinityFilter",
        "ServerGroupSoftAffinityWeigher",
        "ServerGroupSoftAntiAffinityWeigher",
        "CrossCellWeigher",
    }
