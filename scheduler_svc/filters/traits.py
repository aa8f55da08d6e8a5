# SPDX-License-Identifier: Apache-2.0
"""Has the host the traits that are required, and none that is forbidden?"""

from collections.abc import Iterator

import numpy as np

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.trees import Providers
from scheduler_svc.table.view import View

NAME = "TraitsFilter"
REASON_REQUIRED = "required traits"
REASON_FORBIDDEN = "forbidden traits"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that have all required traits, of each choice one, and no forbidden one.

    Of a host that is not all there is to its tree, whoever serves the request must have them, together; so it passes
    where somebody in the tree has each, and somebody lacks what is forbidden. What ``root_required`` and
    ``root_forbidden`` name is the host's own.
    """
    if request.root_required:
        yield Sieve(REASON_REQUIRED, view.having_all(request.root_required))
    if request.root_forbidden:
        yield Sieve(REASON_FORBIDDEN, ~view.having_any(request.root_forbidden))
    trees = view.trees
    if request.required_traits:
        if trees.are_flat:
            yield Sieve(REASON_REQUIRED, view.having_all(request.required_traits))
        else:
            columns = [trees.any(Providers.having_all, (trait,)) for trait in request.required_traits]
            yield Sieve(REASON_REQUIRED, np.logical_and.reduce(columns))
    for choice in request.any_traits:
        yield Sieve(REASON_REQUIRED, trees.any(Providers.having_any, choice))
    if request.forbidden_traits:
        yield Sieve(REASON_FORBIDDEN, trees.any(Providers.lacking, request.forbidden_traits))


FILTER = Filter(NAME, sieves, {"compute": frozenset({"traits"})})
