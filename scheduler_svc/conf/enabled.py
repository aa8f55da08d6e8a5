# SPDX-License-Identifier: Apache-2.0
"""Names of the enabled filters and weighers; with [nova] enabled, the defaults are Nova's."""

from collections.abc import Sequence

from oslo_config import cfg

from rpcapi import errors
from scheduler_svc.core import built_in
from scheduler_svc.core.plugins import entry_points

# Filters for decisions that Nova leaves to Placement
PLACEMENT_FILTERS = (
    *("ForceHostsFilter", "IgnoreHostsFilter", "AvailabilityZoneFilter", "MembershipFilter", "TraitsFilter"),
    *("ResourcesFilter", "RequestGroupsFilter"),
)
NOVA_FILTERS = (
    *("ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter"),
    *("ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter"),
)
# gantt's weighers without a counterpart in Nova
OWN_WEIGHERS = ("FreeShareWeigher", "BalanceWeigher", "SpecialHardwareWeigher", "VolumeNearWeigher")
NOVA_WEIGHERS = tuple(name for name in built_in.WEIGHER_NAMES if name not in OWN_WEIGHERS)


def filters(conf: cfg.ConfigOpts) -> list[str]:
    return _enabled(conf, "enabled_filters", (*PLACEMENT_FILTERS, *NOVA_FILTERS))


def weighers(conf: cfg.ConfigOpts) -> list[str]:
    return _enabled(conf, "enabled_weighers", NOVA_WEIGHERS)


def check_filters(conf: cfg.ConfigOpts) -> None:
    _check("filter", filters(conf), built_in.FILTER_NAMES, entry_points.FILTERS)


def check_weighers(conf: cfg.ConfigOpts) -> None:
    _check("weigher", weighers(conf), built_in.WEIGHER_NAMES, entry_points.WEIGHERS)


def _enabled(conf: cfg.ConfigOpts, option: str, novas: Sequence[str]) -> list[str]:
    location = conf.get_location(option, "filter_scheduler")
    is_default = location is None or location.location is cfg.Locations.opt_default
    return list(novas if conf.nova.enabled and is_default else conf.filter_scheduler[option])


def _check(what: str, enabled: Sequence[str], built_in_names: Sequence[str], group: str) -> None:
    entry_points.enabled(enabled, group, built_in_names)
    allowed = [*built_in_names, *entry_points.installed(group)]
    unknown = sorted(set(enabled) - set(allowed))
    if unknown:
        raise errors.BadConfiguration(
            why=f"[filter_scheduler] enabled_{what}s: unknown {what} {', '.join(unknown)}; "
            f"allowed: {', '.join(allowed)}"
        )
