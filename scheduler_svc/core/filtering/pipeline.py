# SPDX-License-Identifier: Apache-2.0
"""The filters in their order, and their application to a view."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rpcapi import errors
from scheduler_svc.core.filters import (
    aggregate_extra_specs,
    aggregate_flavor,
    aggregate_image_properties,
    aggregate_tenants,
    all_hosts,
    audited,
    availability_zone,
    compute,
    compute_capabilities,
    force_hosts,
    ignore_hosts,
    image_properties,
    instance_hosts,
    isolated_hosts,
    json_query,
    membership,
    metrics,
    near_address,
    network_segment,
    numa_topology,
    partition,
    pci_passthrough,
    request_groups,
    resources,
    server_group,
    traits,
    volume_pool,
)
from scheduler_svc.core.matching import counts
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View
from scheduler_svc.core.timings import FILTER, Stopwatch


def pipeline(options: FilterOptions = DEFAULTS) -> Sequence[Filter]:
    """Return all built-in filters in their order, bound to the configured options."""
    return (
        # No arithmetic: it rejects no host.
        all_hosts.FILTER,
        # Two existing columns. First, so that later reasons do not count hosts that are down.
        compute.FILTER,
        # One lookup per name. First of the request's conditions, since it may leave only a few hosts.
        force_hosts.FILTER,
        ignore_hosts.FILTER,
        # The same lookup, for the hosts of the hinted instances, as the store reported them.
        instance_hosts.SAME_FILTER,
        instance_hosts.DIFFERENT_FILTER,
        # The same lookup; after the caller's conditions, so that its reason counts only hosts that the group excludes.
        server_group.ANTI_AFFINITY_FILTER,
        server_group.AFFINITY_FILTER,
        # The same lookup, for configured names.
        isolated_hosts.build(options),
        # One comparison of an integer column.
        availability_zone.FILTER,
        # A lookup of the host names of a pool, and a bit test per network.
        volume_pool.FILTER,
        network_segment.FILTER,
        # Three comparisons of integer columns.
        near_address.FILTER,
        # A cached column, recomputed when aggregates change.
        aggregate_tenants.FILTER,
        aggregate_flavor.FILTER,
        aggregate_extra_specs.FILTER,
        aggregate_image_properties.build(options),
        # A cached predicate result per distinct facts document, and a lookup per row.
        image_properties.build(options),
        compute_capabilities.FILTER,
        # A bit test per 64-bit word of aggregates.
        membership.FILTER,
        # A bit test per 64 different traits in the cluster.
        traits.FILTER,
        # One test per metric. After the request's conditions: hosts usually report all metrics.
        metrics.build(options.metrics),
        # One float comparison each; the limits of aggregates are a cached column.
        counts.build("NumInstancesFilter", counts.INSTANCES, options.max_instances_per_host),
        counts.build_by_aggregate("AggregateNumInstancesFilter", counts.INSTANCES, options.max_instances_per_host),
        counts.build("IoOpsFilter", counts.IO_OPS, options.max_io_ops_per_host),
        counts.build_by_aggregate("AggregateIoOpsFilter", counts.IO_OPS, options.max_io_ops_per_host),
        # One comparison per query term: up to a hundred.
        json_query.FILTER,
        # Preconditions of the tree search, the most selective first.
        numa_topology.FILTER,
        pci_passthrough.FILTER,
        # A float comparison per class, and arithmetic for unit rules: the most expensive. Late also because its reasons
        # should count only hosts that meet all other conditions.
        resources.FILTER,
        # The same for each distinct request group, with sums over trees.
        request_groups.FILTER,
        # As cheap as the first, but callers wait for the hosts that it rejects: these must meet all other conditions.
        audited.FILTER,
    )


CAPACITY_FILTERS = (pci_passthrough, resources, request_groups)
# Prefilters that restrict projects to aggregates depend on it: no other filter applies their conditions to flat hosts.
ALWAYS_ENABLED = frozenset({membership.NAME})
_WATCH = Stopwatch()
NAMES = tuple(dict.fromkeys(host_filter.name for host_filter in pipeline()))


@dataclass(frozen=True, slots=True)
class Survivors:
    """A mask of the rows that passed all filters, their count, the number of hosts, and rejections per reason."""

    passes: Column
    count: int
    hosts: int
    reasons: Mapping[str, int]


def build(
    enabled: Iterable[str], options: FilterOptions = DEFAULTS, plugins: Sequence[Filter] = ()
) -> Sequence[Filter]:
    """Return the enabled filters in the pipeline's order, then those of ``plugins``.

    Filters in ALWAYS_ENABLED cannot be disabled. Raises BadConfiguration for an unknown name.
    """
    available = (*pipeline(options), *plugins)
    names = [host_filter.name for host_filter in available]
    selected = ALWAYS_ENABLED.union(enabled)
    unknown = selected - set(names)
    if unknown:
        raise errors.BadConfiguration(why=f"unknown filter {', '.join(sorted(unknown))}; allowed: {', '.join(names)}")
    return [host_filter for host_filter in available if host_filter.name in selected]


def build_eligibility(
    enabled: Iterable[str], options: FilterOptions = DEFAULTS, plugins: Sequence[Filter] = ()
) -> Sequence[Filter]:
    """Return the enabled filters that do not check capacity; raises BadConfiguration for an unknown name."""
    return build(set(enabled) - {module.NAME for module in CAPACITY_FILTERS}, options, plugins)


def run(
    filters: Sequence[Filter],
    view: View,
    request: SchedulingRequest,
    *,
    ignored_reasons: Collection[str] = (),
    on_rejected: Callable[[str, Column], None] | None = None,
) -> Survivors:
    """Apply ``filters`` to all hosts; a rejected host is counted for the first reason only.

    Tests with a reason in ``ignored_reasons`` are skipped. If the request names a partition, only its hosts count.
    ``on_rejected`` is called with each reason and the mask of rejected hosts, which costs more than counting them.
    """
    passes = view.present.copy()
    kind = view.of_kind(request.service)
    if kind is not None:
        passes &= kind
    if request.partition is not None:
        passes &= view.partitions.members(request.partition)
    hosts = count = int(np.count_nonzero(passes))
    reasons: dict[str, int] = {}
    laps = _WATCH.laps()
    # Hosts of unreachable partitions take no claims, so this filter is always applied.
    for host_filter in (partition.FILTER, *filters) if request.unavailable_partitions else filters:
        predicates = (
            host_filter.predicates(view, request)
            if host_filter.per_host is None
            else host_filter.per_host(view, request, passes)
        )
        for reason, column in predicates:
            if reason in ignored_reasons:
                continue
            if on_rejected is not None:
                on_rejected(reason, passes & ~column)
            passes &= column
            before, count = count, int(np.count_nonzero(passes))
            if count < before:
                reasons[reason] = reasons.get(reason, 0) + before - count
            if not count:
                break
        if laps is not None:
            laps.lap(FILTER, host_filter.name, view.size, count=host_filter.per_host is None)
        if not count:
            break
    return Survivors(passes, count, hosts, reasons)
