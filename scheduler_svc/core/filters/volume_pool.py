# SPDX-License-Identifier: Apache-2.0
"""Filter that rejects hosts without access to the storage pools of existing volumes."""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.view import View

NAME = "VolumePoolFilter"
REASON = "no way to volume pool {}"
NAMESPACE = "volume"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts with access to every pool. Request groups cover new volumes."""
    for pool in dict.fromkeys(volume["pool"] for volume in request.volumes if volume.get("pool")):
        yield HostPredicate(REASON.format(pool), _hosts_with_access(view, pool))


def _hosts_with_access(view: View, pool: str) -> Column:
    """Return a pool's hosts: listed in its document, else members of its aggregates, else of its zone."""
    document = view.documents(NAMESPACE).get(pool)
    if document is None:
        return np.zeros(view.size, np.bool_)
    if "hosts" in document:
        return view.match_names(document["hosts"])
    aggregates = view.aggregates.of(pool)
    if aggregates:
        return view.aggregates.members(aggregates)
    zone = document.get("availability_zone")
    return np.ones(view.size, np.bool_) if zone is None else view.in_zone(zone)


FILTER = Filter(
    NAME,
    predicates,
    {
        NAMESPACE: frozenset({"hosts", "availability_zone"}),
        "aggregate": frozenset({"hosts", "metadata"}),
        "compute": frozenset({"availability_zone"}),
    },
    reasons=(REASON,),
)
