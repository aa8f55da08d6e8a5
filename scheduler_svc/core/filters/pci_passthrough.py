# SPDX-License-Identifier: Apache-2.0
"""Filter by free PCI devices, which the tree search selects: Nova's PciPassthroughFilter."""

from collections import Counter
from collections.abc import Iterator

from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.view import View

NAME = "PciPassthroughFilter"
GROUP = "_pci"  # prefix of the suffixes of device request groups
REASON = "not enough free {}"


def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    requested: Counter[str] = Counter()
    for group in request.groups:
        if group.suffix.startswith(GROUP):
            requested.update(group.resources)
    for resource_class, amount in requested.items():
        yield HostPredicate(
            REASON.format(resource_class), view.trees.sum(ProviderColumns.available, resource_class) >= amount
        )


FILTER = Filter(NAME, predicates, {"compute": frozenset({"inventories", "used"})}, reasons=(REASON,))
