# SPDX-License-Identifier: Apache-2.0
"""Selection of filters for requests to which Nova applies only some of its filters."""

from collections.abc import Collection, Mapping, Sequence

from scheduler_svc.core.filters import (
    aggregates,
    availability_zone,
    host_names,
    image_properties,
    isolated_hosts,
    membership,
    request_groups,
    resources,
    traits,
)
from scheduler_svc.core.matching.predicate import Filter
from scheduler_svc.core.request import FilterScope

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
