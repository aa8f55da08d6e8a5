# SPDX-License-Identifier: Apache-2.0
"""Has the host NUMA cells at all, where the request has a topology? Nova's NUMATopologyFilter.

Which cells take it is found in the host's tree afterwards, exactly, and only for hosts that are worth it.
"""

from collections.abc import Iterator

from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

NAME = "NUMATopologyFilter"
REASON = "no NUMA cells"


def sieves(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that told of their cells; all where the request has no topology."""
    if request.numa:
        yield Sieve(REASON, view.celled)


FILTER = Filter(NAME, sieves, {"compute": frozenset({"numa"})})
