# SPDX-License-Identifier: Apache-2.0
"""The application of filters to a view, in the order of scheduler_svc.core.built_in."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rpcapi import errors
from scheduler_svc.core import built_in
from scheduler_svc.core.filtering import scopes
from scheduler_svc.core.filters import membership, nova, partition, pci_passthrough, request_groups, resources
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View
from scheduler_svc.core.timings import FILTER, Stopwatch


def pipeline(options: FilterOptions = DEFAULTS) -> Sequence[Filter]:
    """Return all built-in filters in their order, bound to the configured options."""
    loaded = [entry.load() for entry in built_in.FILTERS]
    return [item if isinstance(item, Filter) else item(options) for item in loaded]


CAPACITY_FILTERS = (pci_passthrough, resources, request_groups)
# Prefilters that restrict projects to aggregates depend on it: no other filter applies their conditions to flat hosts.
ALWAYS_ENABLED = frozenset({membership.NAME})
_WATCH = Stopwatch()
NAMES = built_in.names(built_in.FILTERS)


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

    Filters in ALWAYS_ENABLED cannot be disabled. With ``options.nova_enabled`` the filter of Nova's services comes
    first. Raises BadConfiguration for an unknown name.
    """
    available = (*pipeline(options), *plugins)
    names = [host_filter.name for host_filter in available]
    selected = ALWAYS_ENABLED.union(enabled)
    unknown = selected - set(names)
    if unknown:
        raise errors.BadConfiguration(why=f"unknown filter {', '.join(sorted(unknown))}; allowed: {', '.join(names)}")
    # Before all others: their reasons count only hosts on which Nova could build.
    first = [nova.FILTER] if options.nova_enabled else []
    return [*first, *(host_filter for host_filter in available if host_filter.name in selected)]


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
    if request.decision.partition is not None:
        passes &= view.partitions.members(request.decision.partition)
    hosts = count = int(np.count_nonzero(passes))
    reasons: dict[str, int] = {}
    laps = _WATCH.laps()
    filters = scopes.select(filters, request.scope)
    # Hosts of unreachable partitions take no claims, so this filter is always applied.
    limits_partitions = request.stays_in_partition or request.decision.unavailable_partitions
    for host_filter in (partition.FILTER, *filters) if limits_partitions else filters:
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
