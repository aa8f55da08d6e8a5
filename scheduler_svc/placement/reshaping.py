# SPDX-License-Identifier: Apache-2.0
"""Inventories and what consumers hold, replaced together, with providers by UUID."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rpcapi.resources.inventory import Inventory
from scheduler_svc.placement.catalogue import RESOURCE_CLASSES, Catalogue, standard_first
from scheduler_svc.placement.consumers import ConsumerRequest, Consumers, refused_allocation
from scheduler_svc.placement.directory import ProviderDirectory
from scheduler_svc.placement.identities import uuid_of
from scheduler_svc.placement.problems import (
    CONCURRENT_UPDATE,
    INVENTORY_IN_USE,
    PROVIDER_NOT_FOUND,
    Problem,
    bad_request,
    conflict,
)
from scheduler_svc.placement.refusals import owned_by_agent
from scheduler_svc.store.protocols.reshaping import ReshapingStore
from scheduler_svc.store.providers.changes import Refusal, RefusalKind, SetInventories
from scheduler_svc.store.providers.reshaping import MAX_RESHAPED


@dataclass(frozen=True, slots=True)
class InventoryRequest:
    """All inventories that a provider is to have, by resource class; ``generation`` is the one that the client read."""

    uuid: str
    inventories: Mapping[str, Inventory]
    generation: int


class Reshaper:
    """Moves inventories, and what is held from them."""

    def __init__(
        self, store: ReshapingStore, directory: ProviderDirectory, catalogue: Catalogue, consumers: Consumers
    ) -> None:
        self._store = store
        self._directory = directory
        self._catalogue = catalogue
        self._consumers = consumers

    def reshape(self, inventories: Sequence[InventoryRequest], consumers: Sequence[ConsumerRequest]) -> None:
        """Replace all these inventories and what these consumers hold, or nothing; raises Problem."""
        if len(inventories) > MAX_RESHAPED:
            raise bad_request(
                f"a request may contain at most {MAX_RESHAPED} providers, got {len(inventories)}; split it"
            )
        changes = self._changes(inventories)
        refusal = self._consumers.apply(consumers, functools.partial(self._store.reshape, changes))
        if refusal is not None:
            raise _problem(refusal)

    def _changes(self, requests: Sequence[InventoryRequest]) -> list[SetInventories]:
        providers = self._directory.find_each(request.uuid for request in requests)
        for request in requests:
            provider = providers.get(request.uuid)
            if provider is None:
                raise _no_provider(request.uuid)
            if provider.generation != request.generation:
                raise _stale(request.uuid, provider.generation, request.generation)
        self._catalogue.check(RESOURCE_CLASSES, {name for request in requests for name in request.inventories})
        return [
            SetInventories(providers[request.uuid].id, request.inventories, request.generation) for request in requests
        ]


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
