# SPDX-License-Identifier: Apache-2.0
"""Handlers of a resource provider's traits."""

from scheduler_svc.placement.http import schemas
from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.model.catalogue import TRAITS
from scheduler_svc.placement.model.problems import STALE, check_generation
from scheduler_svc.store.providers.changes import ProviderState, SetTraits


def show(model: PlacementModel, _request: Request, uuid: str) -> Response:
    return _respond(model.directory.get(uuid))


def replace(model: PlacementModel, request: Request, uuid: str) -> Response:
    """Replace all traits. An invalid body is refused before an unknown provider."""
    body = request.json(schemas.TRAITS)
    provider = model.directory.get(uuid)
    generation = body["resource_provider_generation"]
    check_generation(provider, generation, STALE)
    model.catalogue.check(TRAITS, body["traits"])
    change = SetTraits(provider.id, body["traits"], generation)
    return _respond(model.directory.change(change))


def remove(model: PlacementModel, _request: Request, uuid: str) -> Response:
    model.directory.change(SetTraits(model.directory.get(uuid).id, ()))
    return Response(204)


def _respond(provider: ProviderState) -> Response:
    document = {
        "traits": sorted(provider.document["traits"]),
        "resource_provider_generation": provider.generation,
    }
    return json_response(document, provider.changed_ms)
