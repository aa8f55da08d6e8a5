# SPDX-License-Identifier: Apache-2.0
"""Filter pipeline: applies filters to a view in the order of scheduler_svc.core.built_in."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc.core import built_in
from scheduler_svc.core.built_in import BuiltInFailed
from scheduler_svc.core.filters import (
    aggregates,
    availability_zone,
    host_names,
    image_properties,
    isolated_hosts,
    membership,
    partition,
    pci_passthrough,
    request_groups,
    resources,
    set_aside,
    traits,
)
from scheduler_svc.core.matching.options import DEFAULTS, FilterOptions
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.records import UNLIMITED, ClaimLimits
from scheduler_svc.core.request import FilterScope, SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View
from scheduler_svc.core.timings import FILTER, Laps, measured_decisions

_HOSTS = (host_names.FORCED.name, host_names.IGNORED.name)  # hosts named by the request
_PLACEMENT = (availability_zone.NAME, membership.NAME, traits.NAME, resources.NAME, request_groups.NAME)
NAMES: Mapping[FilterScope, Collection[str]] = {
    FilterScope.FORCED: {*_HOSTS, *_PLACEMENT},
    # Nova passes the requested or first forced host to Placement.
    FilterScope.PLACEMENT: {host_names.FORCED.name, *_PLACEMENT},
    FilterScope.REBUILD: {
        *_HOSTS,
        *(image_properties.NAME, aggregates.IMAGE_NAME, isolated_hosts.NAME),
    },
}


def select(filters: Sequence[Filter], scope: FilterScope) -> Sequence[Filter]:
    if scope is FilterScope.ALL:
        return filters
    return [host_filter for host_filter in filters if host_filter.in_every_scope or host_filter.name in NAMES[scope]]


def pipeline(options: FilterOptions = DEFAULTS) -> Sequence[Filter]:
    loaded = [entry.load() for entry in built_in.FILTERS]
    return [item if isinstance(item, Filter) else item(options) for item in loaded]


CAPACITY_FILTERS = frozenset({pci_passthrough.NAME, resources.NAME, request_groups.NAME})
# On flat hosts, no other filter enforces the aggregates that prefilters add to a request.
ALWAYS_ENABLED = frozenset({membership.NAME})
MAX_LIMIT = 1_000_000  # live claims; no host has more
_IS_MEASURED = measured_decisions()


@dataclass(frozen=True, slots=True)
class Survivors:
    """Rows that passed all filters. ``hosts`` is the number before filtering, ``reasons`` counts rejections."""

    passes: Column
    count: int
    hosts: int
    reasons: Mapping[str, int]


def build(
    enabled: Iterable[str], options: FilterOptions = DEFAULTS, plugins: Sequence[Filter] = ()
) -> Sequence[Filter]:
    """Return the enabled filters and ``plugins``, those with transient reasons last. Raises BadConfiguration."""
    available = sorted((*pipeline(options), *plugins), key=_is_transient)
    names = [host_filter.name for host_filter in available]
    selected = ALWAYS_ENABLED.union(enabled)
    unknown = selected - set(names)
    if unknown:
        raise errors.BadConfiguration(why=f"unknown filter {', '.join(sorted(unknown))}; allowed: {', '.join(names)}")
    return [host_filter for host_filter in available if host_filter.name in selected]


def _is_transient(host_filter: Filter) -> bool:
    return not transient.HOST_REASONS.isdisjoint(host_filter.reasons)


def without_capacity(filters: Iterable[Filter]) -> Sequence[Filter]:
    return [host_filter for host_filter in filters if host_filter.name not in CAPACITY_FILTERS]


def claim_limits(
    filters: Sequence[Filter], view: View, request: SchedulingRequest, homes: Mapping[str, int]
) -> dict[str, ClaimLimits]:
    """Return the limits of each host, without unlimited hosts. ``homes``: {host: partition number}."""
    limiting = [(host_filter.claim_limit, host_filter.build_limit) for host_filter in select(filters, request.scope)]
    columns = [
        [limit(view, request) for limit in limits if limit is not None] for limits in zip(*limiting, strict=True)
    ]
    if not any(columns):
        return {}
    rows = {name: view.row(name, number) for name, number in homes.items()}
    limits = {
        name: ClaimLimits(*(_smallest(column[row] for column in kind) for kind in columns))
        for name, row in rows.items()
        if row is not None
    }
    return {name: both for name, both in limits.items() if both != UNLIMITED}


def _smallest(limits: Iterable[float]) -> int | None:
    smallest = min(limits, default=math.inf)
    return max(0, math.ceil(smallest)) if smallest <= MAX_LIMIT else None


def run(
    filters: Sequence[Filter],
    view: View,
    request: SchedulingRequest,
    *,
    ignored_reasons: Collection[str] = (),
    on_rejected: Callable[[str, Column], None] | None = None,
) -> Survivors:
    """Apply ``filters``; count each rejected host under its first reason. Raises BuiltInFailed and PluginFailed."""
    passes = _hosts(view, request)
    hosts = count = int(np.count_nonzero(passes))
    reasons: dict[str, int] = {}
    laps = Laps() if next(_IS_MEASURED) else None
    for host_filter in _applied(filters, view, request):
        try:
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
        except errors.GanttError:  # a plugin failed
            raise
        except Exception as error:
            raise BuiltInFailed(FILTER, host_filter.name, _repeat(host_filter, request)) from error
        if laps is not None:
            laps.lap(FILTER, host_filter.name, view.size, count=host_filter.per_host is None)
        if not count:
            break
    return Survivors(passes, count, hosts, reasons)


def _hosts(view: View, request: SchedulingRequest) -> Column:
    hosts = view.present.copy()
    kind = view.of_kind(request.service)
    if kind is not None:
        hosts &= kind
    if request.decision.partition is not None:
        hosts &= view.in_partition(request.decision.partition)
    return hosts


def _applied(filters: Sequence[Filter], view: View, request: SchedulingRequest) -> Sequence[Filter]:
    filters = select(filters, request.scope)
    if request.stays_in_partition or request.decision.unavailable_partitions:
        filters = (partition.FILTER, *filters, partition.AVAILABLE)
    return (set_aside.FILTER, *filters) if view.rows_set_aside else filters


def _repeat(host_filter: Filter, request: SchedulingRequest) -> Callable[[View], object]:
    return lambda view: list(host_filter.predicates(view, request))
