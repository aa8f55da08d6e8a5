# SPDX-License-Identifier: Apache-2.0
"""Conversion of scheduling requests to tree requests."""

from collections import Counter
from collections.abc import Mapping

from rpcapi.resources.groups import RequestGroup
from rpcapi.resources.trees.tree import TreeRequest
from scheduler_svc.core.request import SchedulingRequest


def tree_request(request: SchedulingRequest) -> TreeRequest:
    unsuffixed_group = RequestGroup(
        "",
        request.resources,
        request.required_traits,
        request.any_traits,
        request.forbidden_traits,
        request.member_of,
        request.forbidden_aggregates,
        request.in_tree,
    )
    return TreeRequest(
        (unsuffixed_group, *request.groups),
        request.groups_policy,
        request.root_required,
        request.root_forbidden,
        request.same_subtree,
    )


def total_resources(request: SchedulingRequest) -> Mapping[str, int]:
    """Return the amounts of one instance by resource class, summed over all request groups."""
    if not request.groups:
        return request.resources
    amounts = Counter(request.resources)
    for group in request.groups:
        amounts.update(group.resources)
    return amounts
