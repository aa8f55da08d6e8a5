# SPDX-License-Identifier: Apache-2.0
"""Names of traits and resource classes: standard names, and custom names that clients created or providers have."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import os_resource_classes
import os_traits

from rpcapi import errors
from scheduler_svc.core.table.providers import PartitionProviders
from scheduler_svc.placement.model.directory import ProviderDirectory
from scheduler_svc.placement.model.freshness import Freshness
from scheduler_svc.placement.model.problems import bad_request, not_found
from scheduler_svc.store import paging
from scheduler_svc.store.interface import Store

CUSTOM = "CUSTOM_"
MAX_LOOKS = 5  # attempts to delete a name while providers change


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
    """Sort resource classes in Placement's order: standard ones by number, then custom ones by name."""
    return sorted(resource_classes, key=lambda name: (_RANKS.get(name, len(_RANKS)), name))


class Catalogue:
    def __init__(self, store: Store, directory: ProviderDirectory, freshness: Freshness) -> None:
        self._store = store
        self._directory = directory
        self._freshness = freshness

    def names(self, kind: NameKind) -> list[str]:
        """Return all names: standard names in their order, then custom names sorted."""
        created = paging.entries(partial(self._store.list_state, kind.namespace))
        custom = {name for name, _, _ in created} | self.names_in_use(kind)
        return [*kind.standard, *sorted(custom.difference(kind.standard))]

    def names_in_use(self, kind: NameKind) -> set[str]:
        return self._directory.names_in_use(kind.in_use)

    def find(self, kind: NameKind, name: str) -> int | None:
        """Return a name's creation time in ms, None for an unknown name. The time is now if none is recorded."""
        document = self._document(kind, name)
        if document is not None and "changed_ms" in document:
            return int(document["changed_ms"])
        is_known = document is not None or name in kind.standard
        is_known = is_known or (name.startswith(CUSTOM) and name in self.names_in_use(kind))
        return _now_ms() if is_known else None

    def require(self, kind: NameKind, name: str) -> int:
        """Return a name's creation time like ``find``. Raises Problem 404 for an unknown name."""
        created = self.find(kind, name)
        if created is None:
            raise not_found(f"No such {kind.noun} {name}.")
        return created

    def create(self, kind: NameKind, name: str) -> bool:
        """Create a well-formed custom name; return False if a client has created it before."""
        if self._document(kind, name) is not None:
            return False
        try:
            self._store.put_state(kind.namespace, name, 0, {"changed_ms": _now_ms()})
        except errors.VersionConflict:
            return False
        return True

    def delete(self, kind: NameKind, name: str) -> bool:
        """Delete a custom name; return False if a provider has it. Raises StoreUnavailable after many changes."""
        for _ in range(MAX_LOOKS):
            position = self._freshness.require()
            if name in self.names_in_use(kind):
                return False
            if self._store.retire(kind.namespace, name, position) is None:
                return True
        raise errors.StoreUnavailable(why=f"providers changed during each of {MAX_LOOKS} searches for {name}; retry")

    def check(self, kind: NameKind, names: Iterable[str], failure: str = "") -> None:
        """Raise Problem 400 if a name does not exist; its message begins with ``failure``."""
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


def _now_ms() -> int:
    return int(time.time() * 1000)
