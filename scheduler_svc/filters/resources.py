# SPDX-License-Identifier: Apache-2.0
"""Does what is asked fit beside what is claimed? rpcapi.model.fit, a column at a time."""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "ResourcesFilter"
REASON = "not enough {}"
REASON_UNIT = "unit rules of {}"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that have room for every class, and hand it out in such amounts."""
    for resource_class, amount in request.resources.items():
        yield Sieve(REASON.format(resource_class), view.free(resource_class) >= amount)
        rules = view.rules(resource_class)
        if rules is not None:
            fits = (rules.min_unit <= amount) & (rules.max_unit >= amount) & (amount % rules.step_size == 0)
            yield Sieve(REASON_UNIT.format(resource_class), fits)


FILTER = Filter(NAME, sieves, {"compute": frozenset({"inventories", "used"})})
