# SPDX-License-Identifier: Apache-2.0
"""Members of server groups, read from the store and added to requests."""

from collections import Counter

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.interfaces import DecisionStore


def add_group_members(store: DecisionStore, call: SelectionCall) -> SchedulingRequest:
    """Add the server group's current members to the call's request. The claim verb checks them again."""
    request = call.request
    if request.group is None:
        return request
    members = _count_members(store, call, request.group.id)
    if request.is_affinity:
        return request.with_decision(members=members, group_hosts=tuple(members))
    limit = request.max_instances_per_host
    if limit is None:  # soft policy
        return request.with_decision(members=members)
    if request.source_partition is not None:
        # A moving instance already counts on its host, and a resize may keep it there.
        members |= {host: min(members.get(host, 0), limit - 1) for host in _source_hosts(store, call, request.group.id)}
    full_hosts = tuple(host for host, count in members.items() if count >= limit)
    return request.with_decision(members=members, excluded_hosts=full_hosts)


def _source_hosts(store: DecisionStore, call: SelectionCall, group_id: str) -> set[str]:
    """Return the nodes where the call's moving instances already count as members; none unless all do."""
    sources = store.sources_of(call.consumers, group_id)
    return set(sources.values()) if len(sources) == len(call.consumers) else set()


def _count_members(store: DecisionStore, call: SelectionCall, group_id: str) -> dict[str, int]:
    members = Counter(store.group_hosts(group_id))
    if not call.final:
        return dict(members)
    members -= Counter(store.hosts_of(call.consumers).values())  # a consumer does not count against its own claim
    others = set(call.request.group_members.consumers) - set(call.consumers)
    if others:
        members |= Counter(store.hosts_of(sorted(others)).values())
    return dict(members | Counter(call.request.group_members.hosts))
