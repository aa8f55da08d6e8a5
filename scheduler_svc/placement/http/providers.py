# SPDX-License-Identifier: Apache-2.0
"""Handlers of resource providers, and their JSON."""

import functools
import uuid as uuids
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import orjson

from rpcapi.resources import names
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.core.table.providers import ProviderRow
from scheduler_svc.placement.http import query_parameters, schemas
from scheduler_svc.placement.http.messages import Request, Response, now_ms
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.model.catalogue import RESOURCE_CLASSES, TRAITS
from scheduler_svc.placement.model.problems import (
    DUPLICATE_NAME,
    PROVIDER_HAS_CHILDREN,
    PROVIDER_IN_USE,
    Problem,
    bad_request,
    conflict,
    no_provider,
    not_found,
    owned_by_agent,
)
from scheduler_svc.store.providers.changes import (
    UNCHANGED,
    CreateProvider,
    DeleteProvider,
    ProviderState,
    Refusal,
    RefusalKind,
    UpdateProvider,
)

BODY_OF_CREATED_SINCE = 20
MOVES_SINCE = 37


def list_all(model: PlacementModel, request: Request) -> Response:
    providers = _find(model, request)
    return Response(200, as_list(providers, request.prefix, request.version), modified_ms=_last_change(providers))


def show(model: PlacementModel, request: Request, uuid: str) -> Response:
    return _respond(model.directory.get(uuid), request)


def create(model: PlacementModel, request: Request) -> Response:
    """Create a provider; the client may choose its UUID."""
    body = request.json(schemas.NEW_PROVIDER_1_14 if request.version >= TREES_SINCE else schemas.NEW_PROVIDER)
    uuid = str(uuids.UUID(body["uuid"])) if body.get("uuid") else str(uuids.uuid4())
    name, parent = body["name"], body.get("parent_provider_uuid")
    failure = f'Unable to create resource provider "{name}", {uuid}: '
    if parent == uuid:
        raise bad_request(f"{failure}parent provider UUID cannot be same as UUID. To make a root, leave it out.")
    change = CreateProvider(names.api_provider(uuid), name, _parent(model, parent, failure))
    if model.directory.find(uuid) is not None:
        raise _duplicate(f"uuid: {uuid}")
    provider = model.directory.change(change, partial(_refused_place, name=name, failure=failure))
    location = f"{request.prefix}/resource_providers/{uuid}"
    if request.version < BODY_OF_CREATED_SINCE:
        return Response(201, location=location)
    return _respond(provider, request, location)


def update(model: PlacementModel, request: Request, uuid: str) -> Response:
    """Rename a provider or set its parent; since 1.37 also change or remove its parent."""
    provider = model.directory.get(uuid)
    body = request.json(schemas.PROVIDER_1_14 if request.version >= TREES_SINCE else schemas.PROVIDER)
    failure = f"Unable to save resource provider {uuid}: "
    parent: Any = UNCHANGED
    if "parent_provider_uuid" in body:
        parent_uuid = body["parent_provider_uuid"]
        parent = _parent(model, parent_uuid, failure)
        if provider.parent is not None and request.version < MOVES_SINCE and parent_uuid != uuid_of(provider.parent):
            act = "un-parenting" if parent is None else "re-parenting"
            raise bad_request(f"{failure}{act} a provider is not currently allowed. It is from 1.{MOVES_SINCE} on.")
    change = UpdateProvider(provider.id, body["name"], parent)
    refused_place = partial(_refused_place, name=body["name"], failure=failure)
    return _respond(model.directory.change(change, refused_place), request)


def delete(model: PlacementModel, _request: Request, uuid: str) -> Response:
    provider = model.directory.find(uuid)
    if provider is None:
        raise _nothing_to_delete(uuid)
    model.directory.change(DeleteProvider(provider.id), _refused_deletion)
    return Response(204)


def _refused_deletion(refusal: Refusal, uuid: str) -> Problem:
    match refusal.kind:
        case RefusalKind.PROVIDER:
            return _nothing_to_delete(uuid)
        case RefusalKind.CHILDREN:
            return conflict(
                f"Unable to delete parent resource provider {uuid}: It has child resource providers.",
                PROVIDER_HAS_CHILDREN,
            )
        case RefusalKind.IN_USE:
            return conflict(
                f"Unable to delete resource provider {uuid}: Resource provider has allocations.", PROVIDER_IN_USE
            )
        case _:
            return owned_by_agent(uuid)


def _nothing_to_delete(uuid: str) -> Problem:
    return not_found(f"No resource provider with uuid {uuid} found for delete")


def _parent(model: PlacementModel, uuid: str | None, failure: str) -> str | None:
    if uuid is None:
        return None
    parent = model.directory.find(str(uuids.UUID(uuid)))
    if parent is None:
        raise bad_request(f"{failure}parent provider UUID does not exist.")
    return parent.id


def _find(model: PlacementModel, request: Request) -> Sequence[tuple[ProviderRow, int]]:
    group = query_parameters.request_group(request)
    model.catalogue.check(RESOURCE_CLASSES, group.resources, "Invalid resource class in resources parameter: ")
    traits = {*group.forbidden, *group.required}.union(*group.any_of)
    model.catalogue.check(TRAITS, traits, 'Invalid trait(s) in "required" parameter: ')
    ids: dict[str, str] = {}
    for parameter in ("uuid", "in_tree"):
        uuid = request.parameter(parameter)
        if uuid is not None:
            provider = model.directory.find(uuid)
            if provider is None:
                return []
            ids[parameter] = provider.id
    return model.directory.find_all(
        group, name=request.parameter("name"), provider=ids.get("uuid"), tree=ids.get("in_tree")
    )


def _last_change(providers: Sequence[tuple[ProviderRow, int]]) -> int:
    """Return the time of the last change; now for agents' providers or an empty list."""
    times = [row.changed_ms for row, _ in providers if row.changed_ms is not None]
    return max(times) if times and len(times) == len(providers) else now_ms()


def _respond(provider: ProviderState, request: Request, location: str | None = None) -> Response:
    body = to_json(provider, provider.generation, request.prefix, request.version).encode()
    modified_ms = now_ms() if provider.changed_ms is None else provider.changed_ms
    return Response(200, body, location, modified_ms)


def _duplicate(what: str) -> Problem:
    return conflict(f"Conflicting resource provider {what} already exists.", DUPLICATE_NAME)


def _refused_place(refusal: Refusal, uuid: str, *, name: str, failure: str) -> Problem:
    match refusal.kind:
        case RefusalKind.NAME:
            return _duplicate(f"name: {name}")
        case RefusalKind.EXISTS:
            return _duplicate(f"uuid: {uuid}")
        case RefusalKind.PARENT:
            return bad_request(f"{failure}parent provider UUID does not exist.")
        case RefusalKind.LOOP:
            return bad_request(f"{failure}creating loop in the provider tree is not allowed.")
        case RefusalKind.PROVIDER:
            return no_provider(uuid)
        case _:
            return owned_by_agent(uuid)


TREES_SINCE = 14
_LINKS = (  # (link to a provider's subresource, first minor microversion)
    ("inventories", 0),
    ("usages", 0),
    ("aggregates", 1),
    ("traits", 6),
    ("allocations", 11),
)


def to_json(provider: ProviderRow | ProviderState, generation: int, prefix: str, version: int) -> str:
    return _template(prefix, version) % {
        "uuid": uuid_of(provider.id),
        "name": orjson.dumps(provider.name).decode(),
        "generation": generation,
        "parent": "null" if provider.parent is None else f'"{uuid_of(provider.parent)}"',
        "root": uuid_of(provider.root),
    }


def as_list(providers: Iterable[tuple[ProviderRow, int]], prefix: str, version: int) -> bytes:
    documents = (to_json(row, generation, prefix, version) for row, generation in providers)
    return f'{{"resource_providers":[{",".join(documents)}]}}'.encode()


@functools.lru_cache
def _template(prefix: str, version: int) -> str:
    path = f"{prefix.replace('%', '%%')}/resource_providers/%(uuid)s"
    below = [name for name, since in _LINKS if version >= since]
    document = {
        "uuid": "%(uuid)s",
        "name": "%(name)s",
        "generation": "%(generation)s",
        "links": [{"rel": "self", "href": path}, *({"rel": name, "href": f"{path}/{name}"} for name in below)],
    }
    if version >= TREES_SINCE:
        document |= {"parent_provider_uuid": "%(parent)s", "root_provider_uuid": "%(root)s"}
    text = orjson.dumps(document).decode()
    for name in ("name", "generation", "parent"):  # values that are already JSON, with quotes if they need any
        text = text.replace(f'"%({name})s"', f"%({name})s")
    return text
