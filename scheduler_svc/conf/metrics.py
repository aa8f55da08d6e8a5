# SPDX-License-Identifier: Apache-2.0
"""Options of MetricsWeigher. Names, meanings and the group are Nova's."""

import math

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import nova_defaults
from scheduler_svc.core.metric_weights import NO_METRIC_WEIGHTS, MetricWeights

GROUP = "metrics"  # rpcapi.daemon has options in this group too

OPTS: list[cfg.Opt] = [
    cfg.ListOpt(
        "weight_setting",
        default=[],
        sample_default=["cpu.percent=-1.0", "temperature=-0.5"],
        mutable=True,
        help="How MetricsWeigher weighs hosts: metric=ratio, separated by commas. A host's figure is the sum of ratio "
        "x metric. Agents report the metrics named here, and no others.",
    ),
    cfg.FloatOpt(
        "weight_multiplier",
        default=1.0,
        mutable=True,
        help="Weight of the metrics in a host's score. Figures are scaled to 0 to 1 over the hosts that passed the "
        "filters and multiplied by this.",
    ),
    cfg.BoolOpt(
        "required",
        default=True,
        mutable=True,
        help="Whether a host must report every metric of weight_setting. If so, MetricsFilter must be enabled, and a "
        "host that lacks one takes nothing. If not, its figure is weight_of_unavailable.",
    ),
    cfg.FloatOpt(
        "weight_of_unavailable",
        default=NO_METRIC_WEIGHTS.unavailable,
        mutable=True,
        help="Figure of a host that lacks one of the metrics, where they are not required.",
    ),
]


def load(conf: cfg.ConfigOpts) -> MetricWeights:
    """Return the configured weights; raises BadConfiguration for an entry that is not metric=ratio."""
    ratios: dict[str, float] = {}
    for pair in conf.metrics.weight_setting:
        name, equals, text = (part.strip() for part in pair.rpartition("="))
        try:
            ratio = float(text)
        except ValueError:
            ratio = math.nan
        if not equals or not name or name in ratios or not math.isfinite(ratio):
            raise errors.BadConfiguration(
                why=f"[{GROUP}] weight_setting: {pair!r} is not of the form metric=ratio, or repeats a metric"
            )
        ratios[name] = ratio
    return MetricWeights(ratios, conf.metrics.weight_of_unavailable)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid setting, or one without effect."""
    weighers = nova_defaults.enabled_or_default(conf, "enabled_weighers", nova_defaults.WEIGHERS)
    filters = nova_defaults.enabled_or_default(conf, "enabled_filters", nova_defaults.FILTERS)
    weighs = load(conf).ratios and "MetricsWeigher" in weighers
    if weighs and conf.metrics.required and "MetricsFilter" not in filters:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] required is true, but MetricsFilter, which enforces it, is not in [filter_scheduler] "
            "enabled_filters; enable it, or set required to false"
        )
