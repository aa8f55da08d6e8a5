# SPDX-License-Identifier: Apache-2.0
"""Allocation candidates."""

from dataclasses import replace
from datetime import UTC, datetime

from rpcapi.resources.trees.tree import TreeRequest
from scheduler_svc.endpoints.placement import candidate_query
from scheduler_svc.endpoints.placement.candidate_documents import CandidateDocuments
from scheduler_svc.endpoints.placement.candidate_summaries import TREES_SINCE
from scheduler_svc.endpoints.placement.messages import Request, Response
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.endpoints.placement.routes import Route
from scheduler_svc.endpoints.placement.schemas import allocation_candidates as schemas
from scheduler_svc.placement.candidates.finder import CandidateFinder
from scheduler_svc.placement.candidates.request import CandidateList, CandidateRequest
from scheduler_svc.placement.catalogue import RESOURCE_CLASSES, TRAITS, Catalogue
from scheduler_svc.placement.directory import ProviderDirectory

SINCE = Microversion(1, 10)


class AllocationCandidateHandlers:
    """Lists allocation candidates."""

    def __init__(self, finder: CandidateFinder, directory: ProviderDirectory, catalogue: Catalogue) -> None:
        self._finder = finder
        self._directory = directory
        self._catalogue = catalogue
        self._documents = CandidateDocuments()

    def routes(self) -> list[Route]:
        """Return the route of allocation candidates."""
        path, rule = "/allocation_candidates", "allocation_candidates:list"
        return [Route("GET", path, self.list_all, rule, SINCE, gives_json=True, query=schemas.LIST)]

    def list_all(self, request: Request) -> Response:
        """Return the candidates for a query, and what their providers have."""
        deadline = self._finder.deadline()
        query = candidate_query.read(request)
        self._check_names(query.trees)
        trees = self._with_roots(query.trees)
        answer = CandidateList()
        if trees is not None:
            nested = request.version >= TREES_SINCE
            answer = self._finder.find(CandidateRequest(trees, query.limit, nested, request.id), deadline)
        is_limited = query.limit is not None
        body = self._documents.to_json(answer, query.trees, request.version, deadline, is_limited=is_limited)
        return Response(200, body, modified=datetime.now(UTC))

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
