# SPDX-License-Identifier: Apache-2.0
"""Options of the filter driver. Names and meanings are Nova's."""

from collections.abc import Sequence

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.conf import filters, scheduler, weighers
from scheduler_svc.core.plugins import entry_points

GROUP = "filter_scheduler"
FILTERS = filters.FILTERS
WEIGHERS = weighers.WEIGHERS

OPTS: list[cfg.Opt] = [
    cfg.IntOpt(
        "host_subset_size",
        default=1,
        min=1,
        max=1000,
        mutable=True,
        help="Number of best hosts from which each instance's host is drawn at random. A value above 1 reduces "
        "collisions between concurrent workers, for slightly worse placement.",
    ),
]


def check(conf: cfg.ConfigOpts) -> None:
    _check_names("filter", filters.enabled(conf), FILTERS, entry_points.FILTERS)
    if {"filter", "solver"} & set(scheduler.drivers(conf)):  # another driver may have its own weighers
        _check_names("weigher", weighers.enabled(conf), WEIGHERS, entry_points.WEIGHERS)


def _check_names(what: str, enabled: Sequence[str], built_in: Sequence[str], group: str) -> None:
    entry_points.enabled(enabled, group, built_in)
    allowed = [*built_in, *entry_points.installed(group)]
    unknown = sorted(set(enabled) - set(allowed))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] enabled_{what}s: unknown {what} {', '.join(unknown)}; allowed: {', '.join(allowed)}"
        )
