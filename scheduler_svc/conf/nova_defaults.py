# SPDX-License-Identifier: Apache-2.0
"""The filters and weighers that Nova enables by default, and gantt with [nova] enabled."""

from collections.abc import Sequence

from oslo_config import cfg

from scheduler_svc.core import built_in

# What Placement decides beside Nova's filters; gantt decides it by filters of its own.
PLACEMENT_FILTERS = (
    *("ForceHostsFilter", "IgnoreHostsFilter", "AvailabilityZoneFilter", "MembershipFilter", "TraitsFilter"),
    *("ResourcesFilter", "RequestGroupsFilter"),
)
NOVA_FILTERS = (
    *("ComputeFilter", "ComputeCapabilitiesFilter", "ImagePropertiesFilter"),
    *("ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter"),
)
OWN_WEIGHERS = ("FreeShareWeigher", "BalanceWeigher", "VolumeNearWeigher")  # gantt's, which Nova lacks

FILTERS = (*PLACEMENT_FILTERS, *NOVA_FILTERS)
WEIGHERS = tuple(name for name in built_in.names(built_in.WEIGHERS) if name not in OWN_WEIGHERS)


def enabled_or_default(conf: cfg.ConfigOpts, option: str, defaults: Sequence[str]) -> list[str]:
    """Return an option of [filter_scheduler], ``defaults`` where it is not set and the hosts are those of a Nova."""
    location = conf.get_location(option, "filter_scheduler")
    is_default = location is None or location.location is cfg.Locations.opt_default
    return list(defaults if conf.nova.enabled and is_default else conf.filter_scheduler[option])
