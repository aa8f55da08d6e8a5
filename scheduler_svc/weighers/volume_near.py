# SPDX-License-Identifier: Apache-2.0
"""Hosts near the storage pools of the request's volumes first: in the same location, as a rack."""

import functools
from collections.abc import Mapping
from typing import Any

import numpy as np

from scheduler_svc.request import Request
from scheduler_svc.table.columns import FloatColumn
from scheduler_svc.table.view import View
from scheduler_svc.weighers.weigher import Weigher

NAMESPACE = "volume"
LOCATION = "location"  # the key of a pool's document, and of a host's facts


def raw(view: View, request: Request) -> FloatColumn | None:
    """Return how many of the volumes are in each row's own location; None where no volume says where it is."""
    pools = [pool for volume in request.volumes if (pool := _pool(request, volume))]
    if not pools:
        return None
    documents = view.documents(NAMESPACE)
    places = [documents[pool][LOCATION] for pool in pools if LOCATION in documents.get(pool, {})]
    figures = np.zeros(view.size)
    for place in places:
        figures += view.facts.where(functools.partial(_is_at, place), (LOCATION, place))
    return figures if places else None


def _is_at(place: str, facts: Mapping[str, Any]) -> bool:
    return facts.get(LOCATION) == place


def _pool(request: Request, volume: Mapping[str, Any]) -> str | None:
    """Return where a volume is, or will be; None where that is left open."""
    groups = (each.in_tree for each in request.groups if each.suffix == volume.get("group"))
    return volume.get("pool") or next(groups, None)


def step(request: Request) -> float:
    """Return 0: an instance moves no pool."""
    return 0.0


WEIGHER = Weigher(
    "VolumeNearWeigher",
    raw,
    step,
    {NAMESPACE: frozenset({LOCATION}), "compute": frozenset({"facts"})},
    option="volume_near_weight_multiplier",
)
