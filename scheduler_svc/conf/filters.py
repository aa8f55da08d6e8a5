# SPDX-License-Identifier: Apache-2.0
"""Which filters hosts must pass, and what these are told. Names, meanings, defaults and the group are Nova's."""

import logging
from collections.abc import Sequence

from oslo_config import cfg

from rpcapi import errors
from rpcapi.model import names
from scheduler_svc.conf import metrics
from scheduler_svc.filters.options import FilterOptions

LOG = logging.getLogger(__name__)

GROUP = "filter_scheduler"

# What there is, in the pipeline's order, told here without the modules that do it: those need NumPy.
FILTERS = (
    "AllHostsFilter",
    "ComputeFilter",
    "ForceHostsFilter",
    "IgnoreHostsFilter",
    "SameHostFilter",
    "DifferentHostFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "IsolatedHostsFilter",
    "AvailabilityZoneFilter",
    "VolumePoolFilter",
    "NetworkSegmentFilter",
    "SimpleCIDRAffinityFilter",
    "AggregateMultiTenancyIsolation",
    "AggregateTypeAffinityFilter",
    "AggregateInstanceExtraSpecsFilter",
    "AggregateImagePropertiesIsolation",
    "ImagePropertiesFilter",
    "ComputeCapabilitiesFilter",
    "MembershipFilter",
    "TraitsFilter",
    "MetricsFilter",
    "NumInstancesFilter",
    "AggregateNumInstancesFilter",
    "IoOpsFilter",
    "AggregateIoOpsFilter",
    "JsonFilter",
    "NUMATopologyFilter",
    "PciPassthroughFilter",
    "ResourcesFilter",
    "RequestGroupsFilter",
)
# gantt's own, without which it would not keep to what every request may ask, those that Nova enables, and those that
# cost a request nothing that has no use for them.
DEFAULT_FILTERS = (
    "ComputeFilter",
    "ForceHostsFilter",
    "IgnoreHostsFilter",
    "SameHostFilter",
    "DifferentHostFilter",
    "ServerGroupAntiAffinityFilter",
    "ServerGroupAffinityFilter",
    "AvailabilityZoneFilter",
    "VolumePoolFilter",
    "NetworkSegmentFilter",
    "ImagePropertiesFilter",
    "ComputeCapabilitiesFilter",
    "MembershipFilter",
    "TraitsFilter",
    "NUMATopologyFilter",
    "PciPassthroughFilter",
    "ResourcesFilter",
    "RequestGroupsFilter",
)
# Former names, and what does the same now.
RENAMED_FILTERS = {"ServerGroupFilter": ("ServerGroupAntiAffinityFilter", "ServerGroupAffinityFilter")}

OPTS: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_filters",
        default=list(DEFAULT_FILTERS),
        mutable=True,
        help="Filters that a host must pass. Their order is fixed, cheapest first. docs/scheduling.md tells what each "
        "does and reads; a hint or an extra spec whose filter is not enabled has no effect. MembershipFilter always "
        "holds. Without ResourcesFilter full hosts are tried and refused by the store; nothing is ever overcommitted.",
    ),
    cfg.IntOpt(
        "max_io_ops_per_host",
        default=8,
        min=0,
        mutable=True,
        help="IoOpsFilter and AggregateIoOpsFilter refuse hosts on which so many instances, or more, are being built, "
        "moved or copied. Metadata of the same name sets it for an aggregate's hosts, of several aggregates the least.",
    ),
    cfg.IntOpt(
        "max_instances_per_host",
        default=50,
        min=1,
        mutable=True,
        help="NumInstancesFilter and AggregateNumInstancesFilter refuse hosts with so many instances, or more. "
        "Metadata of the same name sets it for an aggregate's hosts, of several aggregates the least.",
    ),
    cfg.StrOpt(
        "image_properties_default_architecture",
        sample_default="x86_64",
        mutable=True,
        help="Architecture that ImagePropertiesFilter takes an image to be for which has no property hw_architecture. "
        "Unset: such an image runs anywhere.",
    ),
    cfg.ListOpt(
        "isolated_images",
        default=[],
        mutable=True,
        help="Ids of images whose servers IsolatedHostsFilter places on isolated_hosts and nowhere else.",
    ),
    cfg.ListOpt(
        "isolated_hosts",
        default=[],
        mutable=True,
        help="Hosts set aside for isolated_images: names of service hosts, with all their nodes, or of nodes.",
    ),
    cfg.BoolOpt(
        "restrict_isolated_hosts_to_isolated_images",
        default=True,
        mutable=True,
        help="Whether servers of all other images are kept off isolated_hosts.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_namespace",
        mutable=True,
        help="AggregateImagePropertiesIsolation looks at aggregate metadata and image properties alone whose keys "
        "begin with this and the separator. Unset: at all.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_separator",
        default=".",
        mutable=True,
        help="What stands in such keys between aggregate_image_properties_isolation_namespace and the rest.",
    ),
]


def register_opts(conf: cfg.ConfigOpts) -> None:
    """Register the options of group [filter_scheduler] that filters have."""
    conf.register_opts(OPTS, group=GROUP)


def load(conf: cfg.ConfigOpts) -> FilterOptions:
    """Return what filters are told; raises BadConfiguration for a setting that cannot be used."""
    group = conf.filter_scheduler
    return FilterOptions(
        metrics=tuple(metrics.load(conf).ratios),
        max_io_ops_per_host=group.max_io_ops_per_host,
        max_instances_per_host=group.max_instances_per_host,
        default_architecture=group.image_properties_default_architecture or "",
        isolated_images=frozenset(group.isolated_images),
        isolated_hosts=tuple(map(_host, group.isolated_hosts)),
        restrict_isolated_hosts=group.restrict_isolated_hosts_to_isolated_images,
        properties_namespace=group.aggregate_image_properties_isolation_namespace or "",
        properties_separator=group.aggregate_image_properties_isolation_separator,
    )


def enabled(conf: cfg.ConfigOpts) -> Sequence[str]:
    """Return the names of enabled_filters, those that have a new name by that."""
    return [
        new_name for name in conf.filter_scheduler.enabled_filters for new_name in RENAMED_FILTERS.get(name, (name,))
    ]


def _host(name: str) -> str:
    try:
        return names.canonical(name)
    except errors.InvalidName as why:
        raise errors.BadConfiguration(why=f"[{GROUP}] isolated_hosts: {why.sentence}") from why


def check(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration for a setting that cannot be used; warn of former names."""
    load(conf)
    for name in conf.filter_scheduler.enabled_filters:
        if name in RENAMED_FILTERS:
            new_name = " and ".join(RENAMED_FILTERS[name])
            LOG.warning("[%s] enabled_filters: %s is a former name, and will go; enable %s", GROUP, name, new_name)
