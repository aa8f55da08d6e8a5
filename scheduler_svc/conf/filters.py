# SPDX-License-Identifier: Apache-2.0
"""Options of filters. Names, meanings, defaults and the group are Nova's."""

from oslo_config import cfg

from rpcapi import errors
from rpcapi.resources import names
from scheduler_svc.conf import enabled, metrics, nova
from scheduler_svc.core import built_in
from scheduler_svc.core.matching.options import FilterOptions

GROUP = "filter_scheduler"

OPTS: list[cfg.Opt] = [
    cfg.ListOpt(
        "enabled_filters",
        default=list(built_in.DEFAULT_FILTERS),
        mutable=True,
        help="Filters that a host must pass; docs/scheduling.md describes them. A hint or extra spec needs its filter. "
        "MembershipFilter is always applied; without ResourcesFilter the store refuses full hosts. Default with [nova] "
        "enabled: Nova's filters and those that replace Placement's decisions.",
    ),
    cfg.IntOpt(
        "max_io_ops_per_host",
        default=8,
        min=0,
        mutable=True,
        help="IoOpsFilter and AggregateIoOpsFilter reject hosts that build, move or copy this many instances or more. "
        "Aggregate metadata of the same name overrides it for member hosts; the minimum of several aggregates applies.",
    ),
    cfg.IntOpt(
        "max_instances_per_host",
        default=50,
        min=1,
        mutable=True,
        help="NumInstancesFilter and AggregateNumInstancesFilter reject hosts with this many instances or more. "
        "Aggregate metadata of the same name overrides it for member hosts; the minimum of several aggregates applies.",
    ),
    cfg.StrOpt(
        "image_properties_default_architecture",
        sample_default="x86_64",
        mutable=True,
        help="Architecture that ImagePropertiesFilter assumes for images without hw_architecture. Unset: any host.",
    ),
    cfg.ListOpt(
        "isolated_images",
        default=[],
        mutable=True,
        help="Ids of images whose servers IsolatedHostsFilter places only on isolated_hosts.",
    ),
    cfg.ListOpt(
        "isolated_hosts",
        default=[],
        mutable=True,
        help="Hosts reserved for isolated_images: names of service hosts, with all their nodes, or of nodes.",
    ),
    cfg.BoolOpt(
        "restrict_isolated_hosts_to_isolated_images",
        default=True,
        mutable=True,
        help="Whether isolated_hosts exclude servers of all other images.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_namespace",
        mutable=True,
        help="AggregateImagePropertiesIsolation compares only metadata and image properties whose keys begin with "
        "this and the separator. Unset: all keys.",
    ),
    cfg.StrOpt(
        "aggregate_image_properties_isolation_separator",
        default=".",
        mutable=True,
        help="Separator between aggregate_image_properties_isolation_namespace and the rest of the key.",
    ),
]


def load(conf: cfg.ConfigOpts) -> FilterOptions:
    """Return the filters' options. Raises BadConfiguration for an invalid host or metric."""
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


def _host(name: str) -> str:
    try:
        return names.canonical(name)
    except errors.InvalidName as why:
        raise errors.BadConfiguration(why=f"[{GROUP}] isolated_hosts: {why.sentence}") from why


def check(conf: cfg.ConfigOpts) -> None:
    enabled.check_filters(conf)
    load(conf)
    if conf.nova.enabled:
        _check_novas_hosts(conf)


def _check_novas_hosts(conf: cfg.ConfigOpts) -> None:
    """Raise BadConfiguration if an enabled filter needs host state that gantt does not read from Nova."""
    undecided = [name for name in nova.UNDECIDED_FILTERS if name in enabled.filters(conf)]
    if undecided:
        raise errors.BadConfiguration(
            why=f"[{GROUP}] enabled_filters: {', '.join(undecided)} cannot decide for Nova's hosts: gantt does not "
            "read their NUMA cells and PCI pools; nova-compute checks them. Remove it"
        )
