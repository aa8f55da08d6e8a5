# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from rpcapi.resources.trees.tree import AllocationCandidate, TreeRequest
from scheduler_svc.endpoints.placement import candidate_query
from scheduler_svc.endpoints.placement.messages import Request, Response, json_response
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.endpoints.placement.routes import Route
from scheduler_svc.placement.candidates.finder import CandidateFinder
from scheduler_svc.placement.candidates.request import CandidateList, CandidateRequest, ProviderSummary
from scheduler_svc.placement.catalogue import RESOURCE_CLASSES, TRAITS, Catalogue
from scheduler_svc.placement.directory import ProviderDirectory
from scheduler_svc.placement.identities import uuid_of

SINCE = Microversion(1, 10)
MAPPINGS_BY_PROVIDER_SINCE = Microversion(1, 12)
TRAITS_SINCE = Microversion(1, 17)
ALL_CLASSES_SINCE = Microversion(1, 27)
TREES_SINCE = Microversion(1, 29)
GROUP_MAPPINGS_SINCE = Microversion(1, 34)


class AllocationCandidateHandlers:
    """Lists allocation candidates."""

    def __init__(self, finder: CandidateFinder, directory: ProviderDirectory, catalogue: Catalogue) -> None:
        self._finder = finder
        self._directory = directory
        self._catalogue = catalogue

    def routes(self) -> list[Route]:
        """Return the route of allocation candidates."""
        path, rule = "/allocation_candidates", "allocation_candidates:list"
        return [Route("GET", path, self.list_all, rule, SINCE, gives_json=True)]

    def list_all(self, request: Request) -> Response:
        """Return the candidates for a query, and what their providers have."""
        query = candidate_query.read(request)
        self._check_names(query.trees)
        trees = self._with_roots(query.trees)
        answer = CandidateList()
        if trees is not None:
            nested = request.version >= TREES_SINCE
            answer = self._finder.find(CandidateRequest(trees, query.limit, nested, request.id))
        classes = {name for group in query.trees.groups for name in group.resources}
        document = {
            "allocation_requests": _requests(answer, request.version),
            "provider_summaries": {
                uuid_of(name): _summary(summary, classes, request.version) for name, summary in answer.summaries.items()
            },
        }
        return json_response(document, datetime.now(UTC))

    def _check_names(self, trees: TreeRequest) -> None:
        """Raise Problem 400 for a resource class or trait that does not exist."""
        classes = {name for group in trees.groups for name in group.resources}
        self._catalogue.check(RESOURCE_CLASSES, classes, "Invalid resource class in resources parameter: ")
        traits = {*trees.root_required, *trees.root_forbidden}
        for group in trees.groups:
            traits.update(group.required, group.forbidden, *group.any_of)
        self._catalogue.check(TRAITS, traits)

    def _with_roots(self, trees: TreeRequest) -> TreeRequest | None:
        """Return a request with the ids of roots for in_tree, None if one names no provider."""
        groups = []
        for group in trees.groups:
            root = None
            if group.in_tree is not None:
                provider = self._directory.find(group.in_tree)
                if provider is None:
                    return None
                root = provider.document["root"]
            groups.append(replace(group, in_tree=root))
        return replace(trees, groups=groups)


def _requests(answer: CandidateList, version: Microversion) -> list[dict[str, Any]]:
    form = _by_provider if version >= MAPPINGS_BY_PROVIDER_SINCE else _as_list
    uuids = {name: uuid_of(name) for name in answer.summaries}
    documents = [form(candidate, uuids) for candidate in answer.candidates]
    if version >= GROUP_MAPPINGS_SINCE:
        for document, candidate in zip(documents, answer.candidates, strict=True):
            document["mappings"] = {
                suffix: [uuids.get(name) or uuid_of(name) for name in names]
                for suffix, names in candidate.providers.items()
            }
    return documents


def _by_provider(candidate: AllocationCandidate, uuids: Mapping[str, str]) -> dict[str, Any]:
    return {"allocations": {uuids[name]: {"resources": amounts} for name, amounts in candidate.allocations.items()}}


def _as_list(candidate: AllocationCandidate, uuids: Mapping[str, str]) -> dict[str, Any]:
    allocations = [
        {"resource_provider": {"uuid": uuids[name]}, "resources": amounts}
        for name, amounts in candidate.allocations.items()
    ]
    return {"allocations": allocations}


def _summary(summary: ProviderSummary, classes: set[str], version: Microversion) -> dict[str, Any]:
    """Return a provider's summary; before microversion 1.27 it has only the requested ``classes``."""
    resources = summary.resources
    if version < ALL_CLASSES_SINCE:
        resources = {name: amounts for name, amounts in resources.items() if name in classes}
    document: dict[str, Any] = {"resources": resources}
    if version >= TRAITS_SINCE:
        document["traits"] = summary.traits
    if version >= TREES_SINCE:
        document["parent_provider_uuid"] = None if summary.parent is None else uuid_of(summary.parent)
        document["root_provider_uuid"] = uuid_of(summary.root)
    return document
