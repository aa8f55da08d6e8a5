# SPDX-License-Identifier: Apache-2.0
"""Options of filter and weigher plugins: installed entry points, and handling of their errors."""

import importlib.metadata
import math
from collections.abc import Collection, Mapping, Sequence

from oslo_config import cfg

from rpcapi import errors

GROUP = "filter_scheduler"  # plugins are enabled there by name, like built-in filters and weighers
FILTERS = "gantt.filters"
WEIGHERS = "gantt.weighers"
FATAL, SKIP = "fatal", "skip"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "on_plugin_error",
        default=FATAL,
        choices=[
            (FATAL, "the request is refused with the name of the plugin: nothing is placed without its result"),
            (SKIP, "the decision continues without the plugin"),
        ],
        mutable=True,
        help="What happens when a filter or weigher plugin raises an error or returns an invalid column. In both cases "
        "the failure is logged and counted: see 'gantt filter list' and gantt_plugin_errors_total. Use 'skip' only if "
        "a request may be placed on a host that the plugin would have rejected.",
    ),
    cfg.DictOpt(
        "plugin_weight_multipliers",
        default={},
        sample_default="RackWeigher:2.0",
        mutable=True,
        help="Multipliers of enabled weigher plugins, by name; the default is 1.0. Weights are normalized to 0 to 1 "
        "over the hosts that passed the filters and multiplied by this.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the plugin options of group [filter_scheduler]."""
    conf.register_opts(OPTS, group=GROUP)


def installed(group: str) -> Mapping[str, Sequence[importlib.metadata.EntryPoint]]:
    """Return the entry points of ``group`` by name, without importing them."""
    points: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for point in importlib.metadata.entry_points(group=group):
        points.setdefault(point.name, []).append(point)
    return points


def source(point: importlib.metadata.EntryPoint) -> str:
    """Return the distribution of an entry point, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"


def enabled(names: Collection[str], group: str, built_in: Collection[str]) -> list[importlib.metadata.EntryPoint]:
    """Return the entry points that ``names`` enable, in the order of the names.

    Raises BadConfiguration for an ambiguous name.
    """
    installed_points = installed(group)
    enabled_points: list[importlib.metadata.EntryPoint] = []
    for name in dict.fromkeys(names):
        points = installed_points.get(name, ())
        sources = [source(point) for point in points] + ["gantt itself"] * (name in built_in)
        if points and len(sources) > 1:
            raise errors.BadConfiguration(why=f"[{GROUP}] {name!r} is in {' and in '.join(sources)}: uninstall one")
        enabled_points += points
    return enabled_points


def multiplier(conf: cfg.ConfigOpts, name: str) -> float:
    """Return the multiplier of a weigher plugin; raises BadConfiguration unless it is a finite number."""
    text = conf.filter_scheduler.plugin_weight_multipliers.get(name, "1.0")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise errors.BadConfiguration(why=f"[{GROUP}] plugin_weight_multipliers: {name}:{text} is not a finite number")
    return number


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for an invalid multiplier."""
    for name in conf.filter_scheduler.plugin_weight_multipliers:
        multiplier(conf, name)
