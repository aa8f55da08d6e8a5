# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts without special hardware, to keep it for requests that ask for it.

Special are the resource classes and traits of few hosts. Nova's PCIWeigher knows only PCI devices.
"""

from collections.abc import Mapping
from itertools import chain

import numpy as np

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import Column, FloatColumn
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.view import View
from scheduler_svc.core.tree_request import tree_request
from scheduler_svc.core.weighers.weigher import Weigher

FEW = 1 / 3  # share of hosts up to which a class or trait is special
# Traits of drivers and of processor generations. Hosts of the newest generation must not stay empty.
COMMON_PREFIXES = ("COMPUTE_", "HW_CPU_")


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return minus the number of special classes and traits that each host has and the request does not ask for."""
    aggregates, service = view.aggregates, request.service
    special = aggregates.get_or_compute(("special", service), lambda: _special_masks(view, service))
    if not special:
        return None
    requested = special.keys() & _requested_names(request)

    def count() -> FloatColumn | None:
        numbers = np.zeros(view.size, np.float64)
        for name, mask in special.items():
            numbers -= mask & (name not in requested)
        return numbers if numbers.any() else None

    return aggregates.get_or_compute(("not requested", service, frozenset(requested)), count)


def _special_masks(view: View, service: str) -> Mapping[str, Column]:
    """Return, by special class and trait, a mask of the hosts that have it."""
    trees, kind = view.trees.without_sharing(), view.of_kind(service)
    classes = {name: trees.capacity(name) > 0 for name in trees.classes}
    traits = {
        name: trees.any(ProviderColumns.has_any, (name,))
        for name in trees.traits
        if not name.startswith(COMMON_PREFIXES)
    }
    of_kind = np.ones(view.size, np.bool_) if kind is None else kind
    masks = {name: mask & of_kind for name, mask in (classes | traits).items()}
    hosts = np.count_nonzero(np.logical_or.reduce(list(masks.values()))) if masks else 0
    return {name: mask for name, mask in masks.items() if 0 < np.count_nonzero(mask) <= FEW * hosts}


def _requested_names(request: SchedulingRequest) -> set[str]:
    groups = tree_request(request).groups
    names = [(*group.resources, *group.required, *chain(*group.any_of)) for group in groups]
    return {*request.root_required, *chain(*names)}


WEIGHER = Weigher("SpecialHardwareWeigher", raw, reads={"compute": frozenset({"inventories", "traits"})})
