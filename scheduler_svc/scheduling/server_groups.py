# SPDX-License-Identifier: Apache-2.0
"""Server groups: the hosts of their members, which the store provides, in the request."""

from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.scheduling.claimer import DecisionStore


def add_group_members(store: DecisionStore, request: SchedulingRequest) -> SchedulingRequest:
    """Return the request with the current members of its server group; the claim script checks the policy again."""
    if request.group is None:
        return request
    members = store.group_hosts(request.group.id)
    if request.is_affinity:
        return request.with_decision(members=members, group_hosts=tuple(members))
    limit = request.max_instances_per_host  # None for soft policies
    full_hosts = tuple(host for host, count in members.items() if limit is not None and count >= limit)
    return request.with_decision(members=members, excluded_hosts=full_hosts)
