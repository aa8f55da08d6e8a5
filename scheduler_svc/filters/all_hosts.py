# SPDX-License-Identifier: Apache-2.0
"""Every host passes: Nova's AllHostsFilter, for who wants to say that no other filter is enabled."""

from collections.abc import Iterable

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "AllHostsFilter"


def sieves(view: View, request: Request) -> Iterable[Sieve]:
    """Return none: nobody falls."""
    return ()


FILTER = Filter(NAME, sieves)
