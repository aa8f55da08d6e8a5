# SPDX-License-Identifier: Apache-2.0
"""What a request asks of a tree, as the search in trees reads it."""

from collections import Counter
from collections.abc import Mapping

from rpcapi.model.groups import RequestGroup
from rpcapi.model.trees import Wanted
from scheduler_svc.request import Request


def wanted(request: Request) -> Wanted:
    """Return the request's groups, that without a suffix first, and how they are related."""
    own = RequestGroup(
        "",
        request.resources,
        request.required_traits,
        request.any_traits,
        request.forbidden_traits,
        request.member_of,
        request.forbidden_aggregates,
        request.in_tree,
    )
    return Wanted(
        (own, *request.groups),
        request.groups_policy,
        request.root_required,
        request.root_forbidden,
        request.same_subtree,
    )


def demand(request: Request) -> Mapping[str, int]:
    """Return how much of each class one instance takes, in all groups together."""
    if not request.groups:
        return request.resources
    amounts = Counter(request.resources)
    for group in request.groups:
        amounts.update(group.resources)
    return amounts
