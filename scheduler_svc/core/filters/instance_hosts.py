# SPDX-License-Identifier: Apache-2.0
"""Matches hosts with the hosts of hinted instances: Nova's SameHostFilter and DifferentHostFilter."""

from collections.abc import Iterator, Sequence

from rpcapi.validation.hints import as_list
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View

SAME_NAME = "SameHostFilter"
SAME = "same_host"
REASON_SAME = "none of the instances of same_host"
DIFFERENT_NAME = "DifferentHostFilter"
DIFFERENT = "different_host"
REASON_DIFFERENT = "an instance of different_host"


def same(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that run at least one of the hint's instances."""
    if request.hints.get(SAME):
        yield HostPredicate(REASON_SAME, view.match_names(_hosts(request, SAME)))


def different(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
    """Accept hosts that run none of the hint's instances."""
    hosts = _hosts(request, DIFFERENT) if request.hints.get(DIFFERENT) else ()
    if hosts:
        yield HostPredicate(REASON_DIFFERENT, ~view.match_names(hosts))


def _hosts(request: SchedulingRequest, hint: str) -> Sequence[str]:
    """Return the hosts of a hint's instances; instances without a known host are skipped."""
    uuids = as_list(request.hints[hint])
    located = request.decision.instance_hosts
    return [located[uuid] for uuid in uuids if uuid in located]


SAME_FILTER = Filter(SAME_NAME, same)
DIFFERENT_FILTER = Filter(DIFFERENT_NAME, different)
