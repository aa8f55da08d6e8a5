# SPDX-License-Identifier: Apache-2.0
"""Filters by host name: of the request, hints and server groups, whose policies the claim verb enforces."""

from collections.abc import Callable, Iterator, Sequence

from rpcapi.validation.hints import as_list
from scheduler_svc.core.matching.predicate import Filter, HostPredicate
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.view import View


def _build(
    name: str, reason: str, find_names: Callable[[SchedulingRequest], Sequence[str] | None], *, accepts: bool = False
) -> Filter:
    def predicates(view: View, request: SchedulingRequest) -> Iterator[HostPredicate]:
        names = find_names(request)
        if names is not None:
            named = view.match_names(names)
            yield HostPredicate(reason, named if accepts else ~named)

    return Filter(name, predicates, reasons=(reason,))


def _hosts_of_instances(request: SchedulingRequest, hint: str) -> list[str] | None:
    if not request.hints.get(hint):
        return None
    located = request.decision.instance_hosts
    return [located[uuid] for uuid in as_list(request.hints[hint]) if uuid in located]


ALL = Filter("AllHostsFilter", lambda view, request: ())
FORCED = _build("ForceHostsFilter", "not a forced host", lambda request: request.force_hosts or None, accepts=True)
IGNORED = _build("IgnoreHostsFilter", "ignored host", lambda request: request.ignore_hosts or None)
SAME = _build(
    "SameHostFilter",
    "none of the instances of same_host",
    lambda request: _hosts_of_instances(request, "same_host"),
    accepts=True,
)
DIFFERENT = _build(
    "DifferentHostFilter",
    "an instance of different_host",
    lambda request: _hosts_of_instances(request, "different_host") or None,
)
ANTI_AFFINITY = _build(
    "ServerGroupAntiAffinityFilter", "server group policy", lambda request: request.decision.excluded_hosts or None
)
# An affinity group without members allows all hosts.
AFFINITY = _build(
    "ServerGroupAffinityFilter",
    "server group policy",
    lambda request: request.decision.group_hosts or None,
    accepts=True,
)
