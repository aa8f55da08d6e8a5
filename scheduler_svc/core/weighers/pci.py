# SPDX-License-Identifier: Apache-2.0
"""Prefers hosts with few free PCI devices, to keep devices for requests that need them."""

import numpy as np

from scheduler_svc.core.namespaces import nova
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.options import DEFAULTS, WeigherOptions
from scheduler_svc.core.weighers.weigher import Weigher

NAME = "PCIWeigher"
PREFIX = "CUSTOM_PCI_"  # prefix of device resource classes
MAX_DEVICES = 100.0  # cap on the count of free devices, as in Nova


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return 100 minus the free devices of each tree, at least 1; None without any devices."""
    classes = [name for name in view.trees.classes if name.startswith(PREFIX)]
    if not classes:
        return None
    free = sum((view.trees.free(name) for name in classes), np.zeros(view.size, np.float64))
    return MAX_DEVICES - np.minimum(free, MAX_DEVICES - 1)


def raw_of_pools(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return 100 minus the free devices in the pools of each Nova compute node, at least 1."""
    free = np.fmax(view.state(nova.NAMESPACE, nova.FREE_PCI_DEVICES), 0.0)
    return MAX_DEVICES - np.minimum(free, MAX_DEVICES - 1)


def step(request: SchedulingRequest) -> float:
    groups = (request.resources, *(group.resources for group in request.groups))
    return float(sum(amount for resources in groups for name, amount in resources.items() if name.startswith(PREFIX)))


def build(options: WeigherOptions = DEFAULTS) -> Weigher:
    """Build the weigher of provider trees, or of the device pools of Nova's compute nodes.

    Pools count whether or not Placement has their devices ([pci] report_in_placement), as in Nova.
    """
    if options.nova_enabled:
        return Weigher(NAME, raw_of_pools, step, {nova.NAMESPACE: frozenset({nova.FREE_PCI_DEVICES})})
    return Weigher(NAME, raw, step, {"compute": frozenset({"inventories", "used"})})
