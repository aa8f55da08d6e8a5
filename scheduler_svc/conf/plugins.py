# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers from outside: which are installed, and what becomes of a decision when one fails."""

import importlib.metadata
import math
from collections.abc import Collection, Mapping, Sequence

from oslo_config import cfg

from rpcapi import errors

GROUP = "filter_scheduler"  # they are enabled there, by name, as those that are built in
FILTERS = "gantt.filters"
WEIGHERS = "gantt.weighers"
FATAL, SKIP = "fatal", "skip"

OPTS: list[cfg.Opt] = [
    cfg.StrOpt(
        "on_plugin_error",
        default=FATAL,
        choices=[
            (FATAL, "the request is refused, naming the plugin: nothing is placed where it could not be asked"),
            (SKIP, "the decision goes on without the plugin"),
        ],
        mutable=True,
        help="What becomes of a decision when a filter or weigher that is not gantt's own raises an error, or answers "
        "what is no column. Either way the failure is logged and counted: 'gantt filter list' and "
        "gantt_plugin_errors_total tell. Choose 'skip' only where a request may go to a host that the plugin would "
        "have ruled out.",
    ),
    cfg.DictOpt(
        "plugin_weight_multipliers",
        default={},
        sample_default="RackWeigher:2.0",
        mutable=True,
        help="Weights of enabled weighers that are not gantt's own, by name; 1.0 for one that is not named. Figures "
        "are scaled to 0 to 1 over the hosts that passed the filters and multiplied by this.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [filter_scheduler] that speak of plugins."""
    conf.register_opts(OPTS, group=GROUP)


def installed(group: str) -> Mapping[str, Sequence[importlib.metadata.EntryPoint]]:
    """Return the entry points of ``group`` by name; none is imported."""
    points: dict[str, list[importlib.metadata.EntryPoint]] = {}
    for point in importlib.metadata.entry_points(group=group):
        points.setdefault(point.name, []).append(point)
    return points


def source(point: importlib.metadata.EntryPoint) -> str:
    """Return the distribution that an entry point is of, with its version."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"


def enabled(names: Collection[str], group: str, built_in: Collection[str]) -> list[importlib.metadata.EntryPoint]:
    """Return the entry points that ``names`` enable, in the order of the names.

    Raises BadConfiguration for a name that means two things: only one of them can be meant.
    """
    installed_points = installed(group)
    named_points: list[importlib.metadata.EntryPoint] = []
    for name in dict.fromkeys(names):
        points = installed_points.get(name, ())
        sources = [source(point) for point in points] + ["gantt itself"] * (name in built_in)
        if points and len(sources) > 1:
            raise errors.BadConfiguration(why=f"[{GROUP}] {name!r} is in {' and in '.join(sources)}: uninstall one")
        named_points += points
    return named_points


def multiplier(conf: cfg.ConfigOpts, name: str) -> float:
    """Return the weight of a weigher from outside; raises BadConfiguration for what is no finite number."""
    text = conf.filter_scheduler.plugin_weight_multipliers.get(name, "1.0")
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise errors.BadConfiguration(why=f"[{GROUP}] plugin_weight_multipliers: {name}:{text} is no finite number")
    return number


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a weight that is none."""
    for name in conf.filter_scheduler.plugin_weight_multipliers:
        multiplier(conf, name)
