# SPDX-License-Identifier: Apache-2.0
"""Has the host the traits that are required, and none that is forbidden?"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "TraitsFilter"
REASON_REQUIRED = "required traits"
REASON_FORBIDDEN = "forbidden traits"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that have all required traits and no forbidden one."""
    if request.required_traits:
        yield Sieve(REASON_REQUIRED, view.having_all(request.required_traits))
    if request.forbidden_traits:
        yield Sieve(REASON_FORBIDDEN, ~view.having_any(request.forbidden_traits))


FILTER = Filter(NAME, sieves, {"compute": frozenset({"traits"})})
