# SPDX-License-Identifier: Apache-2.0
"""Reader of the Placement API's records in gantt's store."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from rpcapi.resources import names
from rpcapi.resources.inventory import Inventory
from scheduler_svc.core.records import Claim
from scheduler_svc.placement.migration.dump import CustomNameKind, PlacementDump, is_custom
from scheduler_svc.store import allocations, paging
from scheduler_svc.store.allocations import ConsumerImport
from scheduler_svc.store.interface import Store
from scheduler_svc.store.providers.changes import ImportProvider, is_api_owned
from scheduler_svc.store.providers.imports import imported_generation
from scheduler_svc.store.validation import MAX_PAGE

NO_PROVIDER = names.api_provider("none")


class StoreReader:
    """Reader of a partition: consistent records of different times; with ``overwrite``, none is protected."""

    def __init__(self, store: Store, *, overwrite: bool = False) -> None:
        self._store = store
        self._overwrite = overwrite

    def read(self) -> PlacementDump:
        """Read all records. Raises StoreUnavailable."""
        base = self._store.read_generations([NO_PROVIDER])[NO_PROVIDER]
        protected: set[str] = set()
        providers = {record.provider: record for record in self._providers(base, protected)}
        consumers = {record.consumer: record for record in self._consumers(base, protected)}
        custom = _names_in_use(providers.values())
        for kind in CustomNameKind:
            rows = paging.entries(partial(self._store.list_state, kind))
            custom |= {(kind, name): document.get("changed_ms", 0) for name, _, document in rows}
        unchangeable = frozenset[str]() if self._overwrite else frozenset(protected)
        return PlacementDump(providers, consumers, custom, protected=unchangeable, generation_base=base, time_unit_ms=1)

    def reported_names(self) -> set[str]:
        documents = self._store.snapshot().providers
        return {name for name, document in documents.items() if not is_api_owned(document)}

    def _providers(self, base: int, protected: set[str]) -> Iterator[ImportProvider]:
        documents = {
            name: document for name, document in self._store.snapshot().providers.items() if is_api_owned(document)
        }
        generations = self._store.read_generations(list(documents))
        for name, document in documents.items():
            record = _provider_record(document, generations[name])
            if imported_generation(document, record.generation, base) is None:
                protected.add(record.provider)
            yield record

    def _consumers(self, base: int, protected: set[str]) -> Iterator[ConsumerImport]:
        for claim in paging.entries(
            lambda marker: self._store.claims(host=names.API_HOST, marker=marker, limit=MAX_PAGE)
        ):
            if not allocations.is_imported(claim):
                protected.add(claim.consumer)
            yield _consumer_record(claim, base)


def _names_in_use(providers: Iterable[ImportProvider]) -> dict[tuple[CustomNameKind, str], int]:
    """Return {(kind, name): change time in ms} of providers' custom names, which exist even if uncreated."""
    names_in_use = {}
    for record in providers:
        for kind, parts in ((CustomNameKind.TRAIT, record.traits), (CustomNameKind.RESOURCE_CLASS, record.inventories)):
            names_in_use.update({(kind, name): record.changed_ms for name in parts if is_custom(name)})
    return names_in_use


def _provider_record(document: Any, generation: int) -> ImportProvider:
    parent = document.get("parent")
    return ImportProvider(
        uuid_of(document["id"]),
        document.get("name", document["id"]),
        None if parent is None else uuid_of(parent),
        {name: Inventory.from_valid(raw) for name, raw in document["inventories"].items()},
        frozenset(document["traits"]),
        frozenset(document.get("aggregates", ())),
        generation,
        document.get("created_ms", 0),
        document.get("changed_ms", 0),
    )


def _consumer_record(claim: Claim, base: int) -> ConsumerImport:
    parts = {uuid_of(provider): amounts for provider, amounts in claim.allocations.items()}
    generation = allocations.generation_of(claim, base)
    return ConsumerImport(claim.consumer, parts, claim.project, claim.user, claim.type, generation, claim.created_ms)


def uuid_of(provider: str) -> str:
    """Return an API provider's UUID; an agent's provider keeps its id."""
    return provider.removeprefix(names.api_provider(""))
