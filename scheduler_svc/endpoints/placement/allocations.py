# SPDX-License-Identifier: Apache-2.0
"""Allocations of consumers."""

import uuid as uuids
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from oslo_utils import uuidutils

from scheduler_svc.endpoints.placement.messages import Request, Response, json_response
from scheduler_svc.endpoints.placement.microversions import Microversion
from scheduler_svc.endpoints.placement.routes import Route
from scheduler_svc.endpoints.placement.schemas import allocations as schemas
from scheduler_svc.endpoints.placement.schemas.validators import of_version
from scheduler_svc.placement.consumers import ConsumerRequest, Consumers
from scheduler_svc.placement.directory import ProviderDirectory
from scheduler_svc.placement.identities import uuid_of
from scheduler_svc.placement.problems import bad_request, not_found
from scheduler_svc.store.allocations import ANY, ConsumerState

LIST_UNTIL = 11  # the minor microversion in which PUT has its last list of allocations
OWNERS_SINCE = Microversion(1, 12)
MANY_SINCE = Microversion(1, 13)
GENERATION_SINCE = Microversion(1, 28)
TYPE_SINCE = Microversion(1, 38)
NO_TYPE = "unknown"


class AllocationHandlers:
    """Shows, replaces and deletes what consumers hold.

    ``unknown_owner`` is the (project, user) of consumers before microversion 1.8, which names neither.
    """

    def __init__(self, consumers: Consumers, directory: ProviderDirectory, unknown_owner: tuple[str, str]) -> None:
        self._consumers = consumers
        self._directory = directory
        self._unknown_owner = unknown_owner

    def routes(self) -> list[Route]:
        """Return the routes of allocations."""
        collection, item = "/allocations", "/allocations/{consumer}"
        below, rule = "/resource_providers/{uuid}/allocations", "resource_providers:allocations:list"
        return [
            Route("GET", below, self.show_provider, rule, gives_json=True),
            Route("POST", collection, self.replace_many, "allocations:manage", MANY_SINCE, takes_json=True),
            Route("GET", item, self.show, "allocations:list", gives_json=True),
            Route("PUT", item, self.replace, "allocations:update", takes_json=True),
            Route("DELETE", item, self.delete, "allocations:delete"),
        ]

    def show(self, request: Request, consumer: str) -> Response:
        """Return what a consumer holds; of one that does not exist, nothing."""
        state = self._consumers.find(consumer) if uuidutils.is_uuid_like(consumer) else None
        if state is None:
            return json_response({"allocations": {}}, datetime.now(UTC))
        return json_response(self._document(state, request), datetime.fromtimestamp(state.created_ms / 1000, UTC))

    def show_provider(self, request: Request, uuid: str) -> Response:
        """Return what each consumer holds from a provider."""
        provider = self._directory.get(uuid)
        allocations: dict[str, dict[str, Any]] = {}
        for state in self._consumers.of_provider(provider.id):
            allocations[state.consumer] = {"resources": dict(state.allocations[provider.id])}
            if request.version >= GENERATION_SINCE:
                allocations[state.consumer]["consumer_generation"] = state.generation
        document = {"resource_provider_generation": provider.generation, "allocations": allocations}
        return json_response(document, datetime.now(UTC))

    def replace(self, request: Request, consumer: str) -> Response:
        """Replace what a consumer holds; from 1.28 on also by nothing."""
        if not uuidutils.is_uuid_like(consumer):
            raise bad_request(f"Malformed consumer_uuid: {consumer:.100}")
        consumer = str(uuids.UUID(consumer))
        body = request.json(of_version(schemas.REPLACE, request.version))
        if request.version.minor <= LIST_UNTIL:
            listed = body["allocations"]
            body["allocations"] = {
                allocation["resource_provider"]["uuid"]: {"resources": allocation["resources"]} for allocation in listed
            }
        self._consumers.replace([consumer_request(consumer, body, request, self._unknown_owner)])
        return Response(204)

    def replace_many(self, request: Request) -> Response:
        """Replace what several consumers hold, all of them or none."""
        body = request.json(of_version(schemas.REPLACE_MANY, request.version))
        self._consumers.replace(
            [consumer_request(consumer, part, request, self._unknown_owner) for consumer, part in body.items()]
        )
        return Response(204)

    def delete(self, _request: Request, consumer: str) -> Response:
        """End all that a consumer holds."""
        state = self._consumers.find(consumer) if uuidutils.is_uuid_like(consumer) else None
        if state is None:
            raise not_found(f"No allocations for consumer '{consumer}'")
        self._consumers.replace([ConsumerRequest(consumer, {}, state.project, state.user, ANY, is_deletion=True)])
        return Response(204)

    def _document(self, state: ConsumerState, request: Request) -> dict[str, Any]:
        generations = self._directory.generations(list(state.allocations))
        document: dict[str, Any] = {
            "allocations": {
                uuid_of(provider): {"generation": generations[provider], "resources": dict(amounts)}
                for provider, amounts in state.allocations.items()
            }
        }
        if request.version >= OWNERS_SINCE:
            document |= {"project_id": state.project, "user_id": state.user}
        if request.version >= GENERATION_SINCE:
            document["consumer_generation"] = state.generation
        if request.version >= TYPE_SINCE:
            document["consumer_type"] = state.type or NO_TYPE
        return document


def consumer_request(
    consumer: str, body: Mapping[str, Any], request: Request, unknown_owner: tuple[str, str]
) -> ConsumerRequest:
    """Return what one consumer is to hold, from its part of a body; ``unknown_owner`` is as in AllocationHandlers."""
    project, user = unknown_owner
    return ConsumerRequest(
        consumer,
        {provider: part["resources"] for provider, part in body["allocations"].items()},
        body.get("project_id", project),
        body.get("user_id", user),
        body["consumer_generation"] if request.version >= GENERATION_SINCE else ANY,
        body.get("consumer_type"),
    )
