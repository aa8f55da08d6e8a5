# SPDX-License-Identifier: Apache-2.0
"""Providers of one partition, and the traits and resource classes that they may have."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

import os_resource_classes
import os_traits
from oslo_utils import uuidutils

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.matching.group_columns import can_serve_alone
from scheduler_svc.core.provider_uuids import AgentIdentities
from scheduler_svc.core.table.providers import PartitionProviders, ProviderRow
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.placement.model.freshness import Freshness
from scheduler_svc.placement.model.problems import Problem, bad_request, not_found
from scheduler_svc.placement.model.providers import ResourceProvider
from scheduler_svc.placement.model.refusals import no_provider
from scheduler_svc.store import paging
from scheduler_svc.store.interface import Store
from scheduler_svc.store.protocols.providers import ProviderStore
from scheduler_svc.store.providers.changes import ProviderChange, Refusal
from scheduler_svc.store.validation import MAX_PAGE

UUID_LENGTH = 36  # with dashes


class ProviderDirectory:
    """Providers of one partition; ``table`` is the process's copy, ``number`` the partition's number in it."""

    def __init__(self, store: ProviderStore, table: HostTable, number: int, freshness: Freshness) -> None:
        self._store = store
        self._table = table
        self._number = number
        self._freshness = freshness
        self._agents = AgentIdentities()

    def id_of(self, uuid: str) -> str | None:
        """Return the id that a provider with this UUID would have; None if malformed.

        Reads nothing: an agent's provider not learned yet gets the id of an API provider.
        """
        if not _is_uuid(uuid):
            return None
        return self._id_of(uuid)

    def learn_agents(self) -> None:
        self._freshness.require()
        self._agents.learn(self._table.provider_ids(self._number))

    def find(self, uuid: str) -> ResourceProvider | None:
        return self.find_each([uuid]).get(uuid)

    def find_each(self, uuids: Iterable[str]) -> dict[str, ResourceProvider]:
        uuids = {uuid for uuid in uuids if _is_uuid(uuid)}
        providers = self._read_each(uuids)
        unknown = {uuid for uuid in uuids - providers.keys() if self._agents.find(uuid) is None}
        if unknown:
            self.learn_agents()
            providers |= self._read_each(uuid for uuid in unknown if self._agents.find(uuid) is not None)
        return providers

    def find_all(
        self, group: RequestGroup, *, name: str | None, provider: str | None, tree: str | None
    ) -> list[tuple[ProviderRow, int]]:
        """Return the providers that satisfy all conditions, from the table, with the store's generations.

        Each can serve ``group`` from its own free inventories. ``provider`` is the only allowed id, ``tree`` the id of
        any provider of the required tree.
        """
        self._freshness.require()
        with self._table.reading_providers(self._number) as providers:
            mask = providers.present & providers.matching(partial(can_serve_alone, group=group))
            if name is not None:
                mask &= providers.named(name)
            if provider is not None:
                mask &= providers.with_id(provider)
            if tree is not None:
                mask &= providers.in_tree(tree)
            rows = list(providers.rows(mask))
        # Generations may be newer than the rows, which is harmless: a list protects nothing.
        generations = paging.read_generations(self._store, [row.id for row in rows])
        return [(row, generations[row.id]) for row in rows]

    def get(self, uuid: str) -> ResourceProvider:
        """Return a provider; raises Problem 404."""
        provider = self.find(uuid)
        if provider is None:
            raise no_provider(uuid)
        return provider

    def names_in_use(self, find: Callable[[PartitionProviders], set[str]]) -> set[str]:
        self._freshness.require()
        with self._table.reading_providers(self._number) as providers:
            return find(providers)

    def generations(self, ids: Sequence[str]) -> dict[str, int]:
        return self._store.read_generations(ids)

    def change(self, change: ProviderChange, problem_of: Callable[[Refusal], Problem]) -> ResourceProvider:
        """Apply a change and return the changed provider; raises ``problem_of`` of a refusal."""
        answer = self._store.change_provider(change)
        if isinstance(answer, Refusal):
            raise problem_of(answer)
        return ResourceProvider.of(answer)

    def _id_of(self, uuid: str) -> str:
        return self._agents.find(uuid) or names.api_provider(uuid)

    def _read_each(self, uuids: Iterable[str]) -> dict[str, ResourceProvider]:
        ids = {self._id_of(uuid): uuid for uuid in uuids}
        pages = paging.batches(list(ids), MAX_PAGE)
        states = (state for page in pages for state in self._store.read_providers(page).values())
        return {ids[state.id]: ResourceProvider.of(state) for state in states}


def _is_uuid(text: str) -> bool:
    return len(text) == UUID_LENGTH and bool(uuidutils.is_uuid_like(text))


CUSTOM = "CUSTOM_"
MAX_LOOKS = 5  # at all providers, before a name is deleted


@dataclass(frozen=True, slots=True)
class NameKind:
    """Traits or resource classes: namespace of custom names, standard names, and lookup of names in use."""

    namespace: str
    noun: str
    standard: Collection[str]
    in_use: Callable[[PartitionProviders], set[str]]


TRAITS = NameKind("trait", "trait(s):", tuple(os_traits.get_traits()), PartitionProviders.traits_in_use)
RESOURCE_CLASSES = NameKind(
    "resource_class", "resource class", tuple(os_resource_classes.STANDARDS), PartitionProviders.classes_in_use
)
_RANKS = {name: rank for rank, name in enumerate(RESOURCE_CLASSES.standard)}


def standard_first(resource_classes: Iterable[str]) -> list[str]:
    """Return resource classes in Placement's order: standard ones by number, then custom ones by name."""
    return sorted(resource_classes, key=lambda name: (_RANKS.get(name, len(_RANKS)), name))


class Catalogue:
    """Creates, finds and deletes names."""

    def __init__(self, store: Store, directory: ProviderDirectory, freshness: Freshness) -> None:
        self._store = store
        self._directory = directory
        self._freshness = freshness

    def names(self, kind: NameKind) -> list[str]:
        """Return all names: standard ones in their order, then custom ones, sorted."""
        created = paging.entries(partial(self._store.list_state, kind.namespace))
        custom = {name for name, _, _ in created} | self.names_in_use(kind)
        return [*kind.standard, *sorted(custom.difference(kind.standard))]

    def names_in_use(self, kind: NameKind) -> set[str]:
        """Return the names that providers have."""
        return self._directory.names_in_use(kind.in_use)

    def find(self, kind: NameKind, name: str) -> datetime | None:
        """Return the creation time of a name (now if it is not recorded), or None if the name does not exist."""
        document = self._document(kind, name)
        if document is not None and "changed_ms" in document:
            return datetime.fromtimestamp(document["changed_ms"] / 1000, UTC)
        is_known = document is not None or name in kind.standard
        is_known = is_known or (name.startswith(CUSTOM) and name in self.names_in_use(kind))
        return datetime.now(UTC) if is_known else None

    def require(self, kind: NameKind, name: str) -> datetime:
        """Like ``find``, but raises Problem 404 for an unknown name."""
        created = self.find(kind, name)
        if created is None:
            raise not_found(f"No such {kind.noun} {name}.")
        return created

    def create(self, kind: NameKind, name: str) -> bool:
        """Create a well-formed custom name; return False if a client created it before."""
        if self._document(kind, name) is not None:
            return False
        try:
            self._store.put_state(kind.namespace, name, 0, {"changed_ms": int(time.time() * 1000)})
        except errors.VersionConflict:
            return False
        return True

    def delete(self, kind: NameKind, name: str) -> bool:
        """Delete a custom name; return False if a provider has it.

        Raises StoreUnavailable if providers change during every check.
        """
        for _ in range(MAX_LOOKS):
            position = self._freshness.require()
            if name in self.names_in_use(kind):
                return False
            if self._store.retire(kind.namespace, name, position) is None:
                return True
        raise errors.StoreUnavailable(why=f"providers changed during each of {MAX_LOOKS} searches for {name}; retry")

    def check(self, kind: NameKind, names: Iterable[str], failure: str = "") -> None:
        """Raise Problem 400, which begins with ``failure``, if one of the names does not exist."""
        custom = set(names).difference(kind.standard)
        if custom:
            custom -= self.names_in_use(kind)
        unknown = [name for name in custom if self._document(kind, name) is None]
        if unknown:
            raise bad_request(f"{failure}No such {kind.noun} {', '.join(sorted(unknown))}.")

    def _document(self, kind: NameKind, name: str) -> Mapping[str, Any] | None:
        if not name.startswith(CUSTOM):
            return None
        try:
            return self._store.get_state(kind.namespace, name)[1]
        except (errors.UnknownHost, errors.InvalidName):
            return None
