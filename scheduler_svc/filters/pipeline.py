# SPDX-License-Identifier: Apache-2.0
"""The filters in their order, and what is left after them."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rpcapi import errors
from scheduler_svc.filters import (
    aggregate_extra_specs,
    aggregate_flavor,
    aggregate_image_properties,
    aggregate_tenants,
    all_hosts,
    audited,
    availability_zone,
    compute,
    compute_capabilities,
    counts,
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
from scheduler_svc.filters.options import DEFAULTS, Options
from scheduler_svc.filters.sieve import Filter
from scheduler_svc.plugins.figures import FILTER, Stopwatch
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View


def pipeline(options: Options = DEFAULTS) -> Sequence[Filter]:
    """Return all filters in their order, bound to what the configuration tells them."""
    return (
        # No arithmetic: nobody falls.
        all_hosts.FILTER,
        # Two ready columns; and what is down is no answer to "why is it full".
        compute.FILTER,
        # A look-up a name. First of what the request asks, since it may leave a handful of hosts.
        force_hosts.FILTER,
        ignore_hosts.FILTER,
        # The same look-up, of the names that the store told for the hints' instances.
        instance_hosts.SAME_FILTER,
        instance_hosts.DIFFERENT_FILTER,
        # The same look-up; after what the caller said, so that its reason counts what only the group forbids.
        server_group.ANTI_AFFINITY_FILTER,
        server_group.AFFINITY_FILTER,
        # The same look-up, of configured names.
        isolated_hosts.build(options),
        # One comparison of a column of small numbers.
        availability_zone.FILTER,
        # A look-up of the names that a pool says it serves, and a bit test a network.
        volume_pool.FILTER,
        network_segment.FILTER,
        # Three comparisons of such columns.
        near_address.FILTER,
        # A column that was found for an earlier request; one is found anew when aggregates change.
        aggregate_tenants.FILTER,
        aggregate_flavor.FILTER,
        aggregate_extra_specs.FILTER,
        aggregate_image_properties.build(options),
        # A question to each different document of facts, whose answer is kept, and a look-up of it a row.
        image_properties.build(options),
        compute_capabilities.FILTER,
        # A bit test a word of aggregates.
        membership.FILTER,
        # A bit test for each 64 traits that the cluster knows.
        traits.FILTER,
        # A test a metric. After what was asked: it is about what is reported, and mostly all is.
        metrics.build(options.metrics),
        # A comparison of floats each; the aggregates' limits are a column that was found earlier.
        counts.build("NumInstancesFilter", counts.INSTANCES, options.max_instances_per_host),
        counts.build_by_aggregate("AggregateNumInstancesFilter", counts.INSTANCES, options.max_instances_per_host),
        counts.build("IoOpsFilter", counts.IO_OPS, options.max_io_ops_per_host),
        counts.build_by_aggregate("AggregateIoOpsFilter", counts.IO_OPS, options.max_io_ops_per_host),
        # As many comparisons as the query has: up to a hundred.
        json_query.FILTER,
        # Whether there is what the tree is then searched for, in the order in which it is mostly missing.
        numa_topology.FILTER,
        pci_passthrough.FILTER,
        # A comparison of floats a class, and arithmetic where units have rules: the dearest. This late also because
        # its reasons should count hosts that would have been right otherwise.
        resources.FILTER,
        # The same for each different group of the request, and sums over trees.
        request_groups.FILTER,
        # As cheap as the first, but a caller waits for the hosts that fall to it: they must be right but for this.
        audited.FILTER,
    )


LOOKING_AT_ROOM = (pci_passthrough, resources, request_groups)
# Prefilters that keep projects to their aggregates rest on it: on flat hosts nobody else looks at what they add.
ALWAYS = frozenset({membership.NAME})
_WATCH = Stopwatch()
NAMES = tuple(dict.fromkeys(each.name for each in pipeline()))


@dataclass(frozen=True, slots=True)
class Survivors:
    """Which rows passed all filters, how many hosts there were, and how many fell to each reason, in order."""

    passes: Column
    left: int
    hosts: int
    reasons: Mapping[str, int]


def build(enabled: Iterable[str], options: Options = DEFAULTS, plugins: Sequence[Filter] = ()) -> Sequence[Filter]:
    """Return the enabled filters in the pipeline's order, then those of ``plugins``, which come from outside.

    What is in ALWAYS cannot be left out. Raises BadConfiguration for an unknown name.
    """
    there = (*pipeline(options), *plugins)
    names = [each.name for each in there]
    wanted = ALWAYS.union(enabled)
    unknown = wanted - set(names)
    if unknown:
        raise errors.BadConfiguration(why=f"there is no filter {', '.join(sorted(unknown))}; known: {', '.join(names)}")
    return [each for each in there if each.name in wanted]


def build_eligibility(
    enabled: Iterable[str], options: Options = DEFAULTS, plugins: Sequence[Filter] = ()
) -> Sequence[Filter]:
    """Return the enabled filters that do not look at room; raises BadConfiguration for an unknown name."""
    return build(set(enabled) - {each.NAME for each in LOOKING_AT_ROOM}, options, plugins)


def run(
    filters: Sequence[Filter],
    view: View,
    request: Request,
    *,
    pardoned: Collection[str] = (),
    witness: Callable[[str, Column], None] | None = None,
) -> Survivors:
    """Put every host through ``filters``; what falls to one is not counted by the next.

    The reasons in ``pardoned`` are held against no host. Where the request keeps to a partition no other host is seen.
    ``witness`` is told of each reason which hosts fell to it, which costs more than it takes to count them.
    """
    passes = view.there.copy()
    kind = view.of_kind(request.service)
    if kind is not None:
        passes &= kind
    if request.partition is not None:
        passes &= view.within(request.partition)
    hosts = left = int(np.count_nonzero(passes))
    reasons: dict[str, int] = {}
    laps = _WATCH.laps()
    # Nothing can be claimed where the store is away, so that this filter cannot be left out.
    for each in (partition.FILTER, *filters) if request.away else filters:
        sieves = each.sieves(view, request) if each.among is None else each.among(view, request, passes)
        for reason, column in sieves:
            if reason in pardoned:
                continue
            if witness is not None:
                witness(reason, passes & ~column)
            passes &= column
            before, left = left, int(np.count_nonzero(passes))
            if left < before:
                reasons[reason] = reasons.get(reason, 0) + before - left
            if not left:
                break
        if laps is not None:
            laps.lap(FILTER, each.name, view.size, count=each.among is None)
        if not left:
            break
    return Survivors(passes, left, hosts, reasons)
