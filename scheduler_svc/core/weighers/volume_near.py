# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts in the location, such as a rack, of the requested volumes' pools."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.weigher import Weigher

NAMESPACE = "volume"
LOCATION = "location"  # key in documents of pools, and in facts of hosts


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return the number of volumes in each row's location; None if no volume's location is known."""
    pools = [pool for volume in request.volumes if (pool := _pool(request, volume))]
    if not pools:
        return None
    documents = view.documents(NAMESPACE)
    locations = [documents[pool][LOCATION] for pool in pools if LOCATION in documents.get(pool, {})]
    counts = np.zeros(view.size)
    for location in locations:
        counts += view.facts.where(functools.partial(_is_at, location), (LOCATION, location))
    return counts if locations else None


def _is_at(location: str, facts: Mapping[str, Any]) -> bool:
    return facts.get(LOCATION) == location


def _pool(request: SchedulingRequest, volume: Mapping[str, Any]) -> str | None:
    pools = (group.in_tree for group in request.groups if group.suffix == volume.get("group"))
    return volume.get("pool") or next(pools, None)


WEIGHER = Weigher(
    "VolumeNearWeigher",
    raw,
    reads={NAMESPACE: frozenset({LOCATION}), "compute": frozenset({"facts"})},
)
