# SPDX-License-Identifier: Apache-2.0
"""Weigher that prefers hosts with few free PCI devices, to keep devices for requests that need them."""

import numpy as np

from scheduler_svc.core.namespaces.compute_node import FREE_PCI_DEVICES, NAMESPACE
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.columns import FloatColumn
from scheduler_svc.core.table.view import View
from scheduler_svc.core.weighers.options import DEFAULTS, WeigherOptions
from scheduler_svc.core.weighers.weigher import Weigher

NAME = "PCIWeigher"
PREFIX = "CUSTOM_PCI_"  # prefix of resource classes of devices
MAX_DEVICES = 100.0  # limit of the count of free devices, as in Nova


def raw(view: View, request: SchedulingRequest) -> FloatColumn | None:
    """Return 100 minus each tree's free devices, at least 1; None if there never were devices."""
    classes = [name for name in view.trees.classes if name.startswith(PREFIX)]
    if not classes:
        return None
    free = sum((view.trees.free(name) for name in classes), np.zeros(view.size, np.float64))
    return MAX_DEVICES - np.minimum(free, MAX_DEVICES - 1)


def raw_of_reports(view: View, request: SchedulingRequest) -> FloatColumn:
    """Return 100 minus the free devices that each compute node reports, at least 1."""
    free = np.fmax(view.state(NAMESPACE, FREE_PCI_DEVICES), 0.0)
    return MAX_DEVICES - np.minimum(free, MAX_DEVICES - 1)


def step(request: SchedulingRequest) -> float:
    groups = (request.resources, *(group.resources for group in request.groups))
    return float(sum(amount for resources in groups for name, amount in resources.items() if name.startswith(PREFIX)))


def build(options: WeigherOptions = DEFAULTS) -> Weigher:
    """Build the weigher of devices in provider trees, or of devices that compute nodes report.

    As in Nova, reported devices count whether or not they are in a provider tree ([pci] report_in_placement).
    """
    if options.reported_devices:
        return Weigher(NAME, raw_of_reports, step, {NAMESPACE: frozenset({FREE_PCI_DEVICES})})
    return Weigher(NAME, raw, step, {"compute": frozenset({"inventories", "used"})})
