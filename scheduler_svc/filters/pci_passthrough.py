# SPDX-License-Identifier: Apache-2.0
"""Has the host's tree as many free PCI devices as the request asks for? Nova's PciPassthroughFilter.

Which devices they are is found in the host's tree afterwards, exactly, and only for hosts that are worth it.
"""

from collections import Counter
from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.trees import Providers
from scheduler_svc.table.view import View

NAME = "PciPassthroughFilter"
GROUP = "_pci"  # how the suffixes of groups begin that ask for devices
REASON = "not enough free {}"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass with enough devices of each kind, wherever in their trees."""
    wanted: Counter[str] = Counter()
    for group in request.groups:
        if group.suffix.startswith(GROUP):
            wanted.update(group.resources)
    for resource_class, amount in wanted.items():
        yield Sieve(REASON.format(resource_class), view.trees.sum(Providers.left, resource_class) >= amount)


FILTER = Filter(NAME, sieves, {"compute": frozenset({"inventories", "used"})})
