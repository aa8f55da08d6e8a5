# SPDX-License-Identifier: Apache-2.0
"""Options of filter and weigher plugins: error handling and multipliers."""

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.core.weighers.multipliers import parse_multiplier

GROUP = "filter_scheduler"  # enables plugins by name, like built-in filters and weighers
FATAL, SKIP = "fatal", "skip"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "on_plugin_error",
        default=FATAL,
        choices=[
            (FATAL, "the request is refused with the name of the plugin"),
            (SKIP, "the decision continues without the plugin"),
        ],
        mutable=True,
        help="What to do when a filter or weigher plugin raises an error or returns an invalid column. The failure is "
        "logged and counted: see 'gantt filter list' and gantt_scheduler_plugin_errors_total. Use 'skip' only if "
        "requests may be placed on hosts that the plugin would reject.",
    ),
    cfg.DictOpt(
        "plugin_weight_multipliers",
        default={},
        sample_default="RackWeigher:2.0",
        mutable=True,
        help="Multipliers of enabled weigher plugins by name, for weights normalized to 0 to 1. Default: 1.0 each.",
    ),
]


def multiplier(conf: cfg.ConfigOpts, name: str) -> float:
    """Return the multiplier of a weigher plugin. Raises BadConfiguration unless it is a finite number."""
    text = conf.filter_scheduler.plugin_weight_multipliers.get(name, "1.0")
    number = parse_multiplier(text)
    if number is None:
        raise errors.BadConfiguration(why=f"[{GROUP}] plugin_weight_multipliers: {name}:{text} is not a finite number")
    return number


def check(conf: cfg.ConfigOpts) -> None:
    for name in conf.filter_scheduler.plugin_weight_multipliers:
        multiplier(conf, name)
