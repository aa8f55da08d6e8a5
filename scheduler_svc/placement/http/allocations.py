# SPDX-License-Identifier: Apache-2.0
"""Handlers of allocations, by consumer and by provider."""

from collections.abc import Mapping
from typing import Any

from rpcapi.validation.instances import canonical_uuid, is_uuid_like
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.records import Claim
from scheduler_svc.placement.http import schemas
from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.http.schemas import of_version
from scheduler_svc.placement.model.problems import bad_request, not_found
from scheduler_svc.store.allocations import ANY, AllocationChange

LIST_UNTIL = 11  # last minor microversion in which PUT takes a list of allocations
OWNERS_SINCE = 12
GENERATION_SINCE = 28
TYPE_SINCE = 38
NO_TYPE = "unknown"


def show(model: PlacementModel, request: Request, consumer: str) -> Response:
    claim = _find(model, consumer)
    if claim is None:
        return json_response({"allocations": {}})
    return json_response(_document(model, claim, request), claim.created_ms)


def show_provider(model: PlacementModel, request: Request, uuid: str) -> Response:
    provider = model.directory.get(uuid)
    allocations: dict[str, dict[str, Any]] = {}
    for claim in model.consumers.of_provider(provider.id):
        allocations[claim.consumer] = {"resources": dict(claim.allocations[provider.id])}
        if request.version >= GENERATION_SINCE:
            allocations[claim.consumer]["consumer_generation"] = claim.generation
    document = {"resource_provider_generation": provider.generation, "allocations": allocations}
    return json_response(document)


def replace(model: PlacementModel, request: Request, consumer: str) -> Response:
    """Replace a consumer's allocations, which may be empty since 1.28."""
    if not is_uuid_like(consumer):
        raise bad_request(f"Malformed consumer_uuid: {consumer:.100}")
    body = request.json(of_version(schemas.ALLOCATIONS, request.version))
    if request.version <= LIST_UNTIL:
        listed = body["allocations"]
        body["allocations"] = {
            allocation["resource_provider"]["uuid"]: {"resources": allocation["resources"]} for allocation in listed
        }
    model.consumers.replace(consumer_requests({consumer: body}, request, model))
    return Response(204)


def replace_many(model: PlacementModel, request: Request) -> Response:
    """Replace the allocations of all consumers or none."""
    body = request.json(of_version(schemas.ALLOCATIONS_OF_MANY, request.version))
    model.consumers.replace(consumer_requests(body, request, model))
    return Response(204)


def delete(model: PlacementModel, _request: Request, consumer: str) -> Response:
    claim = _find(model, consumer)
    if claim is None:
        raise not_found(f"No allocations for consumer '{consumer}'")
    model.consumers.replace([AllocationChange(claim.consumer, {}, claim.project, claim.user, ANY, is_deletion=True)])
    return Response(204)


def _find(model: PlacementModel, consumer: str) -> Claim | None:
    return model.consumers.find(canonical_uuid(consumer)) if is_uuid_like(consumer) else None


def _document(model: PlacementModel, claim: Claim, request: Request) -> dict[str, Any]:
    generations = model.store.read_generations(list(claim.allocations))
    document: dict[str, Any] = {
        "allocations": {
            uuid_of(provider): {"generation": generations[provider], "resources": dict(amounts)}
            for provider, amounts in claim.allocations.items()
        }
    }
    if request.version >= OWNERS_SINCE:
        document |= {"project_id": claim.project, "user_id": claim.user}
    if request.version >= GENERATION_SINCE:
        document["consumer_generation"] = claim.generation
    if request.version >= TYPE_SINCE:
        document["consumer_type"] = claim.type or NO_TYPE
    return document


def consumer_requests(
    bodies: Mapping[str, Mapping[str, Any]], request: Request, model: PlacementModel
) -> list[AllocationChange]:
    """Return one change per consumer. Raises Problem 400 if a consumer occurs in two spellings."""
    changes = [_consumer_request(consumer, body, request, model) for consumer, body in bodies.items()]
    if len({change.consumer for change in changes}) < len(changes):
        raise bad_request("The allocations name one consumer in two spellings of its UUID.")
    return changes


def _consumer_request(
    consumer: str, body: Mapping[str, Any], request: Request, model: PlacementModel
) -> AllocationChange:
    project, user = model.unknown_owner
    return AllocationChange(
        canonical_uuid(consumer),
        {provider: part["resources"] for provider, part in body["allocations"].items()},
        body.get("project_id", project),
        body.get("user_id", user),
        body["consumer_generation"] if request.version >= GENERATION_SINCE else ANY,
        body.get("consumer_type"),
    )
