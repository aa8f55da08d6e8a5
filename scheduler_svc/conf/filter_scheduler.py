# SPDX-License-Identifier: Apache-2.0
"""Which hosts the filter driver lets pass, and which it likes best. Names and meanings are Nova's."""

from collections.abc import Sequence

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import plugins

GROUP = "filter_scheduler"
# What there is, told here without the modules that do it: those need NumPy, which the master does without.
FILTERS = (
    "ComputeFilter",
    "ForceHostsFilter",
    "IgnoreHostsFilter",
    "ServerGroupFilter",
    "AvailabilityZoneFilter",
    "TraitsFilter",
    "MetricsFilter",
    "ResourcesFilter",
)
DEFAULT_FILTERS = tuple(name for name in FILTERS if name != "MetricsFilter")
WEIGHERS = ("RAMWeigher", "CPUWeigher", "DiskWeigher", "MetricsWeigher")
DEFAULT_WEIGHERS = WEIGHERS[:3]

_MULTIPLIER = (
    "Weight of free {} in a host's score. Free amounts are scaled to 0 to 1 over the hosts that passed the filters and "
    "multiplied by this: a positive number spreads instances, a negative one packs them, 0 leaves it out."
)

OPTS: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_filters",
        default=list(DEFAULT_FILTERS),
        mutable=True,
        help="Filters that a host must pass. There is also MetricsFilter: see [metrics]. Their order is fixed, "
        "cheapest first. Without ResourcesFilter full hosts are tried and refused by the store; nothing is ever "
        "overcommitted.",
    ),
    cfg.ListOpt(
        "enabled_weighers",
        default=list(DEFAULT_WEIGHERS),
        mutable=True,
        help="Weighers whose figures make up a host's score. There is also MetricsWeigher: see [metrics].",
    ),
    cfg.IntOpt(
        "host_subset_size",
        default=1,
        min=1,
        max=1000,
        mutable=True,
        help="Each instance goes to a random one of this many best hosts. More than 1 lets many workers deciding at "
        "once collide less, for a slightly worse choice.",
    ),
    cfg.FloatOpt("ram_weight_multiplier", default=1.0, mutable=True, help=_MULTIPLIER.format("memory")),
    cfg.FloatOpt("cpu_weight_multiplier", default=1.0, mutable=True, help=_MULTIPLIER.format("processors")),
    cfg.FloatOpt("disk_weight_multiplier", default=1.0, mutable=True, help=_MULTIPLIER.format("disk")),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [filter_scheduler]."""
    conf.register_opts(OPTS, group=GROUP)


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a filter or a weigher that there is not."""
    group = conf.filter_scheduler
    _check_names("filter", group.enabled_filters, FILTERS, plugins.FILTERS)
    if conf.scheduler.driver == "filter":  # another one may have weighers of its own
        _check_names("weigher", group.enabled_weighers, WEIGHERS, plugins.WEIGHERS)


def _check_names(what: str, enabled: Sequence[str], built_in: Sequence[str], group: str) -> None:
    plugins.enabled(enabled, group, built_in)
    known = [*built_in, *plugins.installed(group)]
    unknown = sorted(set(enabled) - set(known))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] enabled_{what}s: there is no {what} {', '.join(unknown)}; known: {', '.join(known)}"
        )
