# SPDX-License-Identifier: Apache-2.0
"""Is the host one on which the instances of a hint are? Nova's SameHostFilter and DifferentHostFilter."""

from collections.abc import Iterator, Sequence

from rpcapi.model.checks.hints import listed
from scheduler_svc.filters.sieve import Filter, Sieve
from scheduler_svc.request import Request
from scheduler_svc.table.view import View

SAME_NAME = "SameHostFilter"
SAME = "same_host"
REASON_SAME = "none of the instances of same_host"
DIFFERENT_NAME = "DifferentHostFilter"
DIFFERENT = "different_host"
REASON_DIFFERENT = "an instance of different_host"


def same(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that hold one of the hint's instances at least."""
    if request.hints.get(SAME):
        yield Sieve(REASON_SAME, view.named(_hosts(request, SAME)))


def different(view: View, request: Request) -> Iterator[Sieve]:
    """Let hosts pass that hold none of the hint's instances."""
    hosts = _hosts(request, DIFFERENT) if request.hints.get(DIFFERENT) else ()
    if hosts:
        yield Sieve(REASON_DIFFERENT, ~view.named(hosts))


def _hosts(request: Request, hint: str) -> Sequence[str]:
    """Return where the instances of a hint are; of one that is nowhere nothing is known."""
    uuids = listed(request.hints[hint])
    return [request.located[uuid] for uuid in uuids if uuid in request.located]


SAME_FILTER = Filter(SAME_NAME, same)
DIFFERENT_FILTER = Filter(DIFFERENT_NAME, different)
