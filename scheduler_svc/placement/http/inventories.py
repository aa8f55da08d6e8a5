# SPDX-License-Identifier: Apache-2.0
"""Handlers of a resource provider's inventories."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from rpcapi.resources.inventory import Inventory
from scheduler_svc.placement.http import schemas
from scheduler_svc.placement.http.messages import Request, Response, json_response
from scheduler_svc.placement.http.model import PlacementModel
from scheduler_svc.placement.model.catalogue import RESOURCE_CLASSES, standard_first
from scheduler_svc.placement.model.problems import (
    CONCURRENT_UPDATE,
    INVENTORY_IN_USE,
    Problem,
    bad_request,
    check_generation,
    conflict,
    not_found,
    refused_change,
)
from scheduler_svc.store.providers.changes import (
    InventoryChange,
    ProviderState,
    Refusal,
    RefusalKind,
    SetInventories,
    SetInventory,
)

FULLY_RESERVED_SINCE = 26
STALE = "resource provider generation conflict: read it again and repeat the request"


def list_all(model: PlacementModel, _request: Request, uuid: str) -> Response:
    return _respond_all(model.directory.get(uuid))


def show(model: PlacementModel, _request: Request, uuid: str, resource_class: str) -> Response:
    provider = model.directory.get(uuid)
    if resource_class not in provider.inventories:
        raise not_found(f"No inventory of class {resource_class} for {uuid}")
    return _respond(provider, resource_class)


def create(model: PlacementModel, request: Request, uuid: str) -> Response:
    """Add an inventory. Like Placement, ignore a generation in the body."""
    provider = model.directory.get(uuid)
    body = request.json(schemas.NEW_INVENTORY)
    resource_class = body["resource_class"]
    failure = f"Unable to create inventory for resource provider {uuid}"
    model.catalogue.check(RESOURCE_CLASSES, [resource_class], f"{failure}: ")
    inventory = _parse_inventory(body, resource_class, request, failure)
    answer = _change(model, SetInventory(provider.id, resource_class, inventory, is_new=True))
    location = f"{request.prefix}/resource_providers/{uuid}/inventories/{resource_class}"
    return _respond(answer, resource_class, 201, location)


def update(model: PlacementModel, request: Request, uuid: str, resource_class: str) -> Response:
    provider = model.directory.get(uuid)
    body = request.json(schemas.INVENTORY)
    generation = body["resource_provider_generation"]
    check_generation(provider, generation, STALE)
    failure = f"Unable to update inventory for resource provider {uuid}"
    inventory = _parse_inventory(body, resource_class, request, failure)
    if resource_class not in provider.inventories:
        model.catalogue.require(RESOURCE_CLASSES, resource_class)
    answer = _change(model, SetInventory(provider.id, resource_class, inventory, generation))
    return _respond(answer, resource_class)


def replace(model: PlacementModel, request: Request, uuid: str) -> Response:
    provider = model.directory.get(uuid)
    body = request.json(schemas.INVENTORIES)
    generation = body["resource_provider_generation"]
    check_generation(provider, generation, STALE)
    model.catalogue.check(RESOURCE_CLASSES, body["inventories"], f"Unknown resource class in inventory for {uuid}: ")
    inventories = parse_inventories(uuid, body["inventories"], request)
    return _respond_all(_change(model, SetInventories(provider.id, inventories, generation)))


def delete(model: PlacementModel, _request: Request, uuid: str, resource_class: str) -> Response:
    provider = model.directory.get(uuid)
    _change(model, SetInventory(provider.id, resource_class, None))
    return Response(204)


def delete_all(model: PlacementModel, _request: Request, uuid: str) -> Response:
    _change(model, SetInventories(model.directory.get(uuid).id, {}))
    return Response(204)


def _change(model: PlacementModel, change: InventoryChange) -> ProviderState:
    return model.directory.change(change, partial(_problem, change=change))


def parse_inventories(uuid: str, raw: Mapping[str, Any], request: Request) -> dict[str, Inventory]:
    failure = f"Unable to update inventory for resource provider {uuid}"
    return {name: _parse_inventory(part, name, request, failure) for name, part in raw.items()}


def _parse_inventory(raw: Mapping[str, Any], resource_class: str, request: Request, failure: str) -> Inventory:
    """Parse an inventory. Raises Problem 400 if it is unusable, before 1.26 also if it is fully reserved."""
    inventory = Inventory.from_valid(raw)
    free = inventory.total - inventory.reserved
    if inventory.allocation_ratio < 0:
        raise bad_request(f"{failure}: the allocation_ratio of {resource_class} must be at least 0.")
    if request.version < FULLY_RESERVED_SINCE and inventory.capacity <= 0:
        raise bad_request(f"{failure}: reserved of {resource_class} is greater than or equal to total.")
    if free < 0:
        raise bad_request(f"{failure}: reserved of {resource_class} is greater than total.")
    return inventory


def _problem(refusal: Refusal, uuid: str, *, change: InventoryChange) -> Problem:
    classes = ", ".join(standard_first(refusal.resource_classes))
    match refusal.kind, change:
        case RefusalKind.EXISTS, _:
            return conflict(f"Update conflict: {uuid} has an inventory of {classes} already.", CONCURRENT_UPDATE)
        case RefusalKind.INVENTORY, SetInventory(inventory=None):
            return not_found(f"No inventory of class {classes} found for delete: {uuid} has none.")
        case RefusalKind.INVENTORY, _:
            return bad_request(f"No inventory record with resource class {classes} for resource provider {uuid}.")
        case RefusalKind.IN_USE, SetInventory(inventory=None):
            return conflict(f"Unable to delete inventory of class {classes}: it is in use.", CONCURRENT_UPDATE)
        case RefusalKind.IN_USE, _:
            return conflict(f"Inventory for '{classes}' on resource provider '{uuid}' in use.", INVENTORY_IN_USE)
        case _:
            return refused_change(refusal, uuid, STALE)


def _fields(inventory: Mapping[str, Any]) -> dict[str, Any]:
    return {name: inventory[name] for name in Inventory.__slots__}


def _respond(provider: ProviderState, resource_class: str, status: int = 200, location: str | None = None) -> Response:
    document = _fields(provider.inventories[resource_class])
    if provider.generation:  # Placement omits generation 0 here
        document["resource_provider_generation"] = provider.generation
    return json_response(document, provider.changed_ms, status, location)


def _respond_all(provider: ProviderState) -> Response:
    inventories = {name: _fields(inventory) for name, inventory in provider.inventories.items()}
    return json_response(
        {"resource_provider_generation": provider.generation, "inventories": inventories}, provider.changed_ms
    )
