# SPDX-License-Identifier: Apache-2.0
"""Handler of GET /allocation_candidates."""

from dataclasses import replace

from rpcapi.resources.trees.tree import TreeRequest
from scheduler_svc.placement.http import candidate_query
from scheduler_svc.placement.http.messages import Request, Response, now_ms
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.model.candidates.request import CandidateList
from scheduler_svc.placement.model.catalogue import RESOURCE_CLASSES, TRAITS


def list_all(model: PlacementModel, request: Request) -> Response:
    """Return the candidates for a query, with summaries of their providers."""
    deadline = model.finder.deadline()
    query = candidate_query.read(request)
    _check_names(model, query.trees)
    trees = _with_roots(model, query.trees)
    answer = CandidateList()
    if trees is not None:
        answer = model.finder.find(replace(query, trees=trees), deadline)
    is_limited = query.limit is not None
    body = model.documents.to_json(answer, query.trees, request.version, deadline, is_limited=is_limited)
    return Response(200, body, modified_ms=now_ms())


def _check_names(model: PlacementModel, trees: TreeRequest) -> None:
    classes = {name for group in trees.groups for name in group.resources}
    model.catalogue.check(RESOURCE_CLASSES, classes, "Invalid resource class in resources parameter: ")
    traits = {*trees.root_required, *trees.root_forbidden}
    for group in trees.groups:
        traits.update(group.required, group.forbidden, *group.any_of)
    model.catalogue.check(TRAITS, traits)


def _with_roots(model: PlacementModel, trees: TreeRequest) -> TreeRequest | None:
    groups = []
    for group in trees.groups:
        root = None
        if group.in_tree is not None:
            provider = model.directory.find(group.in_tree)
            if provider is None:
                return None
            root = provider.root
        groups.append(replace(group, in_tree=root))
    return replace(trees, groups=groups)
