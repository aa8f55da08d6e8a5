# SPDX-License-Identifier: Apache-2.0
"""Traits of a resource provider."""

from scheduler_svc.endpoints.placement.messages import Request, Response, json_response
from scheduler_svc.endpoints.placement.routes import Route
from scheduler_svc.endpoints.placement.schemas import names as schemas
from scheduler_svc.endpoints.placement.traits import SINCE
from scheduler_svc.placement.catalogue import TRAITS, Catalogue
from scheduler_svc.placement.directory import ProviderDirectory
from scheduler_svc.placement.providers import Provider
from scheduler_svc.placement.refusals import STALE, check_generation, refused_change
from scheduler_svc.store.providers.changes import Refusal, SetTraits


class ProviderTraitHandlers:
    """Shows, replaces and removes the traits of a provider."""

    def __init__(self, directory: ProviderDirectory, catalogue: Catalogue) -> None:
        self._directory = directory
        self._catalogue = catalogue

    def routes(self) -> list[Route]:
        """Return the routes of a provider's traits."""
        path, rule = "/resource_providers/{uuid}/traits", "resource_providers:traits:"
        return [
            Route("GET", path, self.show, rule + "list", SINCE, gives_json=True),
            Route("PUT", path, self.replace, rule + "update", SINCE, takes_json=True),
            Route("DELETE", path, self.remove, rule + "delete", SINCE),
        ]

    def show(self, _request: Request, uuid: str) -> Response:
        """Return the traits."""
        return _respond(self._directory.get(uuid))

    def replace(self, request: Request, uuid: str) -> Response:
        """Replace all traits; the body is checked before the provider is searched."""
        body = request.json(schemas.TRAITS)
        provider = self._directory.get(uuid)
        generation = body["resource_provider_generation"]
        check_generation(provider, generation, STALE)
        self._catalogue.check(TRAITS, body["traits"])
        return _respond(self._change(uuid, SetTraits(provider.id, body["traits"], generation)))

    def remove(self, _request: Request, uuid: str) -> Response:
        """Remove all traits."""
        self._change(uuid, SetTraits(self._directory.get(uuid).id, ()))
        return Response(204)

    def _change(self, uuid: str, change: SetTraits) -> Provider:
        answer = self._directory.change(change)
        if isinstance(answer, Refusal):
            raise refused_change(answer, uuid, STALE)
        return answer


def _respond(provider: Provider) -> Response:
    return json_response(
        {"traits": provider.traits, "resource_provider_generation": provider.generation}, provider.modified
    )
