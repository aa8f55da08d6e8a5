# SPDX-License-Identifier: Apache-2.0
"""Handlers of a resource provider's aggregates."""

from collections.abc import Sequence

from rpcapi.validation.instances import canonical_uuid
from scheduler_svc.placement.http import schemas
from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.model.problems import STALE, check_generation
from scheduler_svc.store.providers.changes import ProviderState, SetAggregates

GENERATION_SINCE = 19


def show(model: PlacementModel, request: Request, uuid: str) -> Response:
    provider = model.directory.get(uuid)
    return _respond(provider, provider.document.get("aggregates", []), request)


def replace(model: PlacementModel, request: Request, uuid: str) -> Response:
    provider = model.directory.get(uuid)
    generation = None
    if request.version < GENERATION_SINCE:
        aggregates = request.json(schemas.AGGREGATES)
    else:
        body = request.json(schemas.AGGREGATES_1_19)
        aggregates, generation = body["aggregates"], body["resource_provider_generation"]
        check_generation(provider, generation, STALE)
    aggregates = list(dict.fromkeys(map(canonical_uuid, aggregates)))
    change = SetAggregates(provider.id, aggregates, generation)
    return _respond(model.directory.change(change), aggregates, request)


def _respond(provider: ProviderState, aggregates: Sequence[str], request: Request) -> Response:
    document: dict[str, object] = {"aggregates": aggregates}
    if request.version >= GENERATION_SINCE:
        document["resource_provider_generation"] = provider.generation
    return json_response(document)
