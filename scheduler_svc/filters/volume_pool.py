# SPDX-License-Identifier: Apache-2.0
"""Does the host reach the storage pools of the volumes that exist already?"""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.columns import Column
from scheduler_svc.table.view import View

NAME = "VolumePoolFilter"
REASON = "no way to volume pool {}"
NAMESPACE = "volume"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that reach every pool; where a volume is yet to be made, its request group asks for that."""
    for pool in dict.fromkeys(volume["pool"] for volume in request.volumes if volume.get("pool")):
        yield Sieve(REASON.format(pool), _reaching(view, pool))


def _reaching(view: View, pool: str) -> Column:
    """Return who reaches a pool: the hosts that it names, else those of its aggregates, else those of its zone."""
    told = view.documents(NAMESPACE).get(pool)
    if told is None:
        return np.zeros(view.size, np.bool_)
    if "hosts" in told:
        return view.named(told["hosts"])
    aggregates = view.aggregates.of(pool)
    if aggregates:
        return view.aggregates.members(aggregates)
    zone = told.get("availability_zone")
    return np.ones(view.size, np.bool_) if zone is None else view.in_zone(zone)


FILTER = Filter(
    NAME,
    sieves,
    {
        NAMESPACE: frozenset({"hosts", "availability_zone"}),
        "aggregate": frozenset({"hosts", "metadata"}),
        "compute": frozenset({"availability_zone"}),
    },
)
