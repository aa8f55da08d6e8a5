# SPDX-License-Identifier: Apache-2.0
"""Filters and weighers enabled by default in Nova, and in gantt with [nova] enabled."""

from collections.abc import Sequence

from oslo_config import cfg

from scheduler_svc.core import built_in

# Decisions that Nova leaves to Placement.
PLACEMENT_FILTERS = (
    *("ForceHostsFilter", "IgnoreHostsFilter", "AvailabilityZoneFilter", "MembershipFilter", "TraitsFilter"),
    *("ResourcesFilter", "RequestGroupsFilter"),
)
NOVA_FILTERS = (
    *("ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter"),
    *("ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter"),
)
# gantt's weighers without a counterpart in Nova
OWN_WEIGHERS = ("FreeShareWeigher", "BalanceWeigher", "VolumeNearWeigher")

FILTERS = (*PLACEMENT_FILTERS, *NOVA_FILTERS)
WEIGHERS = tuple(name for name in built_in.names(built_in.WEIGHERS) if name not in OWN_WEIGHERS)


def enabled_or_default(conf: cfg.ConfigOpts, option: str, defaults: Sequence[str]) -> list[str]:
    """Return an option of [filter_scheduler], or ``defaults`` if it is not set and the hosts are Nova's."""
    location = conf.get_location(option, "filter_scheduler")
    is_default = location is None or location.location is cfg.Locations.opt_default
    return list(defaults if conf.nova.enabled and is_default else conf.filter_scheduler[option])
