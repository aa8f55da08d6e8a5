# SPDX-License-Identifier: Apache-2.0
"""Does what is asked fit beside what is claimed? rpcapi.model.fit, a column at a time."""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.trees import Providers
from scheduler_svc.table.view import View

NAME = "ResourcesFilter"
REASON = "not enough {}"
REASON_UNIT = "unit rules of {}"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that have room for every class, and hand it out in such amounts.

    Each class may be another provider's of the host's tree, or of those who share with it.
    """
    trees = view.trees
    for resource_class, amount in request.resources.items():
        if trees.are_flat:
            yield Sieve(REASON.format(resource_class), view.free(resource_class) >= amount)
        else:
            yield Sieve(REASON.format(resource_class), trees.any(Providers.has_room, resource_class, amount))
        if trees.has_rules(resource_class):
            yield Sieve(REASON_UNIT.format(resource_class), trees.any(Providers.gives, resource_class, amount))


FILTER = Filter(NAME, sieves, {"compute": frozenset({"inventories", "used"})})
