# SPDX-License-Identifier: Apache-2.0
"""Joint replacement of inventories and allocations; requests name providers by UUID."""

import functools
from collections.abc import Callable, Mapping, Sequence

from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.provider_uuids import uuid_of
from scheduler_svc.placement.model.catalogue import RESOURCE_CLASSES, standard_first
from scheduler_svc.placement.model.consumers import Consumers, refused_allocation
from scheduler_svc.placement.model.directory import ProviderDirectory
from scheduler_svc.placement.model.problems import (
    CONCURRENT_UPDATE,
    INVENTORY_IN_USE,
    PROVIDER_NOT_FOUND,
    Problem,
    bad_request,
    conflict,
    owned_by_agent,
)
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers.changes import ProviderState, Refusal, RefusalKind, SetInventories
from scheduler_svc.store.providers.reshaping import MAX_RESHAPED

InventoriesByProvider = Mapping[str, Mapping[str, Inventory]]  # {provider UUID: {resource class: inventory}}


def reshape(
    consumers: Consumers,
    generations: Mapping[str, int],
    read_inventories: Callable[[], InventoriesByProvider],
    requests: Sequence[AllocationChange],
) -> None:
    """Replace all inventories of these providers and the allocations of ``requests``, or nothing. Raises Problem.

    Like Placement, compare the client's ``generations`` {provider UUID: generation} and the consumers' before
    ``read_inventories`` may raise errors of the inventories.
    """
    if len(generations) > MAX_RESHAPED:
        raise bad_request(f"a request may contain at most {MAX_RESHAPED} providers, got {len(generations)}; split it")
    providers = _find(consumers.directory, generations)
    with consumers.generations_first(requests):
        inventories = read_inventories()
        consumers.catalogue.check(RESOURCE_CLASSES, {name for parts in inventories.values() for name in parts})
    changes = [
        SetInventories(providers[uuid].id, inventories[uuid], generation) for uuid, generation in generations.items()
    ]
    refusal = consumers.apply(requests, functools.partial(consumers.store.reshape, changes))
    if refusal is not None:
        raise _problem(refusal)


def _find(directory: ProviderDirectory, generations: Mapping[str, int]) -> dict[str, ProviderState]:
    providers = directory.find_each(generations)
    for uuid, generation in generations.items():
        provider = providers.get(uuid)
        if provider is None:
            raise _no_provider(uuid)
        if provider.generation != generation:
            raise _stale(uuid, provider.generation, generation)
    return providers


def _problem(refusal: Refusal) -> Problem:
    if refusal.consumer:
        return refused_allocation(refusal)
    uuid = uuid_of(refusal.provider)
    match refusal.kind:
        case RefusalKind.PROVIDER:
            return _no_provider(uuid)
        case RefusalKind.GENERATION:
            return _stale(uuid, refusal.actual, refusal.expected)
        case RefusalKind.IN_USE:
            classes = ", ".join(standard_first(refusal.resource_classes))
            text = f"update conflict: Inventory for '{classes}' on resource provider '{uuid}' in use."
            return conflict(text, INVENTORY_IN_USE)
        case RefusalKind.OWNER:
            return owned_by_agent(uuid)
        case kind:
            raise ValueError(f"refusal {kind} of a reshape has no problem")


def _no_provider(uuid: str) -> Problem:
    return Problem(400, f"Resource provider {uuid} in inventories not found.", PROVIDER_NOT_FOUND)


def _stale(uuid: str, actual: int | None, sent: int | None) -> Problem:
    text = f"resource provider generation conflict for provider {uuid}: actual: {actual}, given: {sent}"
    return conflict(text, CONCURRENT_UPDATE)
