# SPDX-License-Identifier: Apache-2.0
"""Handler of GET /allocation_candidates, and the parser of its queries: request groups and their relations."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rpcapi.resources.groups import MAX_CLASSES, MAX_GROUPS, MAX_SUBTREES, RequestGroup
from rpcapi.resources.trees.tree import TreeRequest
from rpcapi.validation.instances import canonical_uuid, is_uuid_like
from scheduler_svc.placement.http import query_parameters, schemas
from scheduler_svc.placement.http.candidate_documents import TREES_SINCE
from scheduler_svc.placement.http.messages import Request, Response, now_ms
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.http.query_parameters import FORBIDDEN_TRAITS_SINCE, INVALID
from scheduler_svc.placement.model.candidates.request import CandidateList, CandidateRequest
from scheduler_svc.placement.model.catalogue import RESOURCE_CLASSES, TRAITS
from scheduler_svc.placement.model.problems import BAD_PARAMETER, MISSING_PARAMETER, bad_request


def list_all(model: PlacementModel, request: Request) -> Response:
    """Return the candidates for a query, with summaries of their providers."""
    deadline = model.finder.deadline()
    query = read_query(request)
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


SUBTREES_SINCE = 36
_KEY = re.compile(rf"(resources|required|member_of|in_tree)({schemas.SUFFIX})?")

Groups = Mapping[str, RequestGroup]  # {suffix: group}


def read_query(request: Request) -> CandidateRequest:
    """Parse a query. ``in_tree`` of a group stays a UUID. Raises Problem 400."""
    policy, limit = request.parameter("group_policy"), request.parameter("limit")
    required, forbidden = _root_traits(request)
    subtrees = _subtrees(request)
    groups = _groups(request)
    _check_size(groups, subtrees)
    if request.version >= SUBTREES_SINCE:
        _check_subtrees(groups, subtrees)
    else:
        _check_resources(groups)
    if request.version >= FORBIDDEN_TRAITS_SINCE:
        _check_forbidden(groups)
    if policy is None and sum(bool(suffix) for suffix in groups) > 1:
        raise bad_request(
            'The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.'
        )
    trees = TreeRequest(list(groups.values()), policy, required, forbidden, subtrees)
    nested = request.version >= TREES_SINCE
    return CandidateRequest(trees, None if limit is None else int(limit), nested, request.id)


def _groups(request: Request) -> dict[str, RequestGroup]:
    groups: dict[str, RequestGroup] = {}
    for key in request.query:
        match = _KEY.fullmatch(key)
        if match is not None and (suffix := match[2] or "") not in groups:
            group = query_parameters.request_group(request, suffix)
            groups[suffix] = replace(group, in_tree=_in_tree(request, suffix))
    return groups


def _in_tree(request: Request, suffix: str) -> str | None:
    value = request.parameter(f"in_tree{suffix}")
    if value is None:
        return None
    if not is_uuid_like(value.strip()):
        raise bad_request(f"{INVALID}Expected 'in_tree' parameter to be a format of uuid. Got: {value}")
    return canonical_uuid(value.strip())


def _root_traits(request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    value = request.parameter("root_required")
    if value is None:
        return (), ()
    required, forbidden = query_parameters.all_traits(value, request.version)
    names = {name for alternatives in required for name in alternatives}
    if names & forbidden:
        raise bad_request(
            f"Conflicting required and forbidden traits found in root_required: {', '.join(sorted(names & forbidden))}",
            BAD_PARAMETER,
        )
    return tuple(sorted(names)), tuple(sorted(forbidden))


def _subtrees(request: Request) -> tuple[tuple[str, ...], ...]:
    subtrees = []
    for value in request.query.get("same_subtree", []):
        suffixes = {suffix.strip() for suffix in value.split(",")}
        if "" in suffixes:
            raise bad_request("Empty string (unsuffixed group) can not be specified in `same_subtree`", BAD_PARAMETER)
        subtrees.append(tuple(sorted(suffixes)))
    return tuple(subtrees)


def _check_size(groups: Groups, subtrees: Sequence[Sequence[str]]) -> None:
    sizes = {
        "request groups": (len(groups), MAX_GROUPS),
        "same_subtree parameters": (len(subtrees), MAX_SUBTREES),
        "resource classes in one group": (
            max((len(group.resources) for group in groups.values()), default=0),
            MAX_CLASSES,
        ),
    }
    for noun, (count, maximum) in sizes.items():
        if count > maximum:
            raise bad_request(f"{INVALID}there may be at most {maximum} {noun}. Got: {count}")


def _check_subtrees(groups: Groups, subtrees: tuple[tuple[str, ...], ...]) -> None:
    without_resources = [suffix for suffix, group in groups.items() if not group.resources]
    if len(without_resources) == len(groups):
        raise bad_request("There must be at least one resources or resources[$S] parameter.", MISSING_PARAMETER)
    related = {suffix for suffixes in subtrees for suffix in suffixes}
    if not related.issuperset(without_resources):
        unrelated = sorted(set(without_resources) - related)
        raise bad_request(
            "Resourceless suffixed group request should be specified in `same_subtree` query param: bad group(s) - "
            f"{unrelated}.",
            BAD_PARAMETER,
        )
    if not related <= groups.keys():
        raise bad_request(
            f"Real suffixes should be specified in `same_subtree`: {sorted(related - groups.keys())} not found in "
            f"{list(groups)}.",
            BAD_PARAMETER,
        )


def _check_resources(groups: Groups) -> None:
    empty = {suffix: group for suffix, group in groups.items() if not group.resources}
    traits = [f"required{suffix}" for suffix, group in empty.items() if group.required or group.any_of]
    if traits:
        raise bad_request(
            "All traits parameters must be associated with resources.  Found the following orphaned traits keys: "
            + ", ".join(traits)
        )
    aggregates = [
        f"member_of{suffix}" for suffix, group in empty.items() if group.member_of or group.forbidden_aggregates
    ]
    if aggregates:
        raise bad_request(
            "All member_of parameters must be associated with resources. Found the following orphaned member_of keys: "
            + ", ".join(aggregates)
        )
    if empty:
        raise bad_request("All request groups must specify resources.")
    if not groups:
        raise bad_request("At least one request group (`resources` or `resources{$S}`) is required.")


def _check_forbidden(groups: Groups) -> None:
    conflicts = [
        f"required{suffix}: ({', '.join(names)})"
        for suffix, group in groups.items()
        for names in (*((name,) for name in group.required), *group.any_of)
        if set(names) <= set(group.forbidden)
    ]
    if conflicts:
        raise bad_request(
            "Conflicting required and forbidden traits found in the following traits keys: "
            + ", ".join(sorted(conflicts))
        )
