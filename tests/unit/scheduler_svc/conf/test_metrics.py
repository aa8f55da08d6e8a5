# SPDX-License-Identifier: Apache-2.0
"""Options of MetricsWeigher."""

import pytest

from rpcapi import errors
from scheduler_svc import conf as scheduler_conf
from scheduler_svc.conf import metrics
from scheduler_svc.core.weighers.options import MetricWeights


def configure(conf, **options):
    scheduler_conf.register_opts(conf)
    for name, value in options.items():
        group = "metrics" if name in ("weight_setting", "required") else "filter_scheduler"
        conf.set_override(name, value, group=group)
    return conf


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


def test_ratios_are_read_by_metric(conf):
    configure(conf, weight_setting=["cpu.percent = -1.0", "image.os=linux=2"])
    conf.set_override("weight_of_unavailable", -5.0, group="metrics")
    # A metric's name may contain an equals sign: the last one separates the ratio.
    assert metrics.load(conf) == MetricWeights({"cpu.percent": -1.0, "image.os=linux": 2.0}, -5.0)


@pytest.mark.parametrize(
    "options",
    [
        {"weight_setting": ["heat=1"], "enabled_weighers": ["RAMWeigher"]},
        {"weight_setting": [], "enabled_weighers": ["MetricsWeigher"]},
        {"weight_setting": ["heat=1"], "required": False, "enabled_weighers": ["MetricsWeigher"]},
        {"weight_setting": ["heat=1"], "enabled_weighers": ["MetricsWeigher"], "enabled_filters": ["MetricsFilter"]},
    ],
)
def test_metrics_filter_is_needed_only_if_metrics_are_weighed_and_required(conf, options):
    metrics.check(configure(conf, **options))
