# SPDX-License-Identifier: Apache-2.0
"""Options of MetricsWeigher. Names, meanings and the group are Nova's."""

from collections.abc import Callable, Sequence

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import enabled
from scheduler_svc.core.weighers.multipliers import parse_multiplier
from scheduler_svc.core.weighers.options import DEFAULTS, MetricWeights

GROUP = "metrics"  # shared with options of rpcapi.daemon

OPTS: list[cfg.Opt] = [
    cfg.ListOpt(
        "weight_setting",
        default=[],
        sample_default=["cpu.percent=-1.0", "temperature=-0.5"],
        mutable=True,
        help="Metrics of MetricsWeigher: metric=ratio, separated by commas. A host's figure is the sum of ratio x "
        "metric. Agents report only these metrics.",
    ),
    cfg.FloatOpt(
        "weight_multiplier",
        default=1.0,
        mutable=True,
        help="Weight of the metrics in a host's score, for figures normalized to 0 to 1 over the filtered hosts.",
    ),
    cfg.BoolOpt(
        "required",
        default=True,
        mutable=True,
        help="Whether a host must report every metric of weight_setting. If so, MetricsFilter must be enabled and "
        "rejects hosts that lack one. Otherwise their figure is weight_of_unavailable.",
    ),
    cfg.FloatOpt(
        "weight_of_unavailable",
        default=DEFAULTS.metrics.unavailable,
        mutable=True,
        help="Figure of a host that lacks a metric, if metrics are not required.",
    ),
]


def load(conf: cfg.ConfigOpts) -> MetricWeights:
    """Return the metric weights. Raises BadConfiguration for an entry that is not metric=ratio."""
    ratios = parse_weights(f"[{GROUP}] weight_setting", "metric=ratio", conf.metrics.weight_setting, str.rpartition)
    return MetricWeights(ratios, conf.metrics.weight_of_unavailable)


def parse_weights(
    option: str, form: str, pairs: Sequence[str], split: Callable[[str, str], tuple[str, str, str]]
) -> dict[str, float]:
    """Return {name: weight}. ``split`` cuts each entry at its first or last "=". Raises BadConfiguration."""
    weights: dict[str, float] = {}
    for pair in pairs:
        name, _, text = (part.strip() for part in split(pair, "="))
        weight = parse_multiplier(text)
        if not name or name in weights or weight is None:
            raise errors.BadConfiguration(
                why=f"{option}: {pair!r} is not of the form {form}, or repeats a {form.partition('=')[0]}"
            )
        weights[name] = weight
    return weights


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid setting, or if no filter enforces ``required``."""
    weighs = load(conf).ratios and "MetricsWeigher" in enabled.weighers(conf)
    if weighs and conf.metrics.required and "MetricsFilter" not in enabled.filters(conf):
        raise errors.BadConfiguration(
            why=f"[{GROUP}] required is true, but [filter_scheduler] enabled_filters lacks MetricsFilter, which "
            "enforces it; enable it, or set required to false"
        )
