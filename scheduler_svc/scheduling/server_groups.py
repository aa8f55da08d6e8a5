# SPDX-License-Identifier: Apache-2.0
"""Server groups: the hosts of their members, which the store provides, in the request."""

from collections import Counter

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.decision_store import DecisionStore


def add_group_members(store: DecisionStore, call: SelectionCall) -> SchedulingRequest:
    """Return the call's request with the current members of its server group; the claim script checks them again."""
    request = call.request
    if request.group is None:
        return request
    members = _count_members(store, call, request.group.id)
    if request.is_affinity:
        return request.with_decision(members=members, group_hosts=tuple(members))
    limit = request.max_instances_per_host
    if limit is None:  # a soft policy
        return request.with_decision(members=members)
    if request.source_partition is not None:
        # One that moves counts on its own host already, and may stay there, as in a resize
        members |= {host: min(members.get(host, 0), limit - 1) for host in _source_hosts(store, call, request.group.id)}
    full_hosts = tuple(host for host, count in members.items() if count >= limit)
    return request.with_decision(members=members, excluded_hosts=full_hosts)


def _source_hosts(store: DecisionStore, call: SelectionCall, group_id: str) -> set[str]:
    """Return the nodes on which the instances of a move count as members, if all of them do."""
    sources = store.sources_of(call.consumers, group_id)
    return set(sources.values()) if len(sources) == len(call.consumers) else set()


def _count_members(store: DecisionStore, call: SelectionCall, group_id: str) -> dict[str, int]:
    """Return the number of members on each host, as far as it is known before the claim."""
    members = Counter(store.group_hosts(group_id))
    if not call.final:
        return dict(members)
    members -= Counter(store.hosts_of(call.consumers).values())  # a consumer does not count for itself
    others = set(call.request.group_members.consumers) - set(call.consumers)
    if others:
        members |= Counter(store.hosts_of(sorted(others)).values())
    return dict(members | Counter(call.request.group_members.hosts))
