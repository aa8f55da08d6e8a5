# SPDX-License-Identifier: Apache-2.0
"""Providers as the Placement API reads and changes them."""

from collections.abc import Collection, Sequence
from typing import Protocol

from scheduler_svc.store import namespaces, validation
from scheduler_svc.store.bounded import HOSTS
from scheduler_svc.store.certainty import RepeatCounter, certain
from scheduler_svc.store.external_states import ExternalStates
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers.changes import (
    AddInventory,
    CreateProvider,
    ImportProvider,
    ProviderChange,
    ProviderState,
    Refusal,
    SetAggregates,
    SetInventories,
    SetTraits,
)
from scheduler_svc.store.verbs import providing

IMPORTED_AT_ONCE = 50  # providers: a store on Redis serves nothing else while it writes them


class ProviderStore(VerbRunner, Protocol):
    """Providers of both owners, by id: names.api_provider(uuid), or the name under which an agent reports one.

    A generation never repeats between a provider's creation and its deletion, in all epochs. It is increased by the
    changes that say so, and for a provider of the API by each verb that adds claims on it, once.
    """

    repeats: RepeatCounter
    external: ExternalStates | None
    _declared: Collection[str]  # namespaces besides the built-in ones

    def read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        """Return the state of each provider of ``ids`` that exists, all as of one moment; at most MAX_PAGE ids."""
        checks.check_ids(ids, validation.MAX_PAGE)
        return self._read(providing.read, ids)

    def read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the generation of each of ``ids``, in order, whether it exists or not; at most MAX_GENERATIONS ids."""
        checks.check_ids(ids, checks.MAX_GENERATIONS)
        return self._read(providing.read_generations, ids)

    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        """Apply one change and return the provider's state after it, of a deleted one the last; or why it is refused.

        The change is judged and made at one moment: what others change at the same time is visible whole or not at all.
        Earlier decisions on the tree become stale where traits, aggregates or the tree itself change. Raises
        InvalidRequest for malformed ids, names, inventories, traits or aggregates, InvalidName, and StoreUnavailable
        under too many concurrent changes of the same provider.
        """
        checks.check(change)
        self._check_growth([change])
        return certain(self.repeats, lambda: self._run(providing.change, change))

    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        """Store 1 to MAX_IMPORTS providers, and return for each why it is refused, or None.

        Each is stored whole or not at all, in order, as by ``change_provider``; others may read a part of them. After
        InvalidRequest and InvalidName for one of them, and StoreUnavailable, some may be stored: all may be repeated.
        It is fastest where none is below another one of the same call.
        """
        checks.check_imports(imports)
        self._check_growth(imports)
        parts = (imports[start : start + IMPORTED_AT_ONCE] for start in range(0, len(imports), IMPORTED_AT_ONCE))
        return [refusal for part in parts for refusal in self._run(providing.import_all, part)]

    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        """Delete the document of a custom trait or resource class that no provider had at position ``as_of``.

        ``namespace`` is VOCABULARIES' "trait" or "resource_class", in which ``put_state`` makes the documents; a name
        exists where there is one, or a provider that has it. The caller has looked at all providers, in a replica that
        has applied the log to ``as_of``. Refused with BEHIND, ``actual`` a position, where traits or inventories of any
        provider changed later: follow the log to there, and look again. Does nothing where there is no document.
        Raises InvalidRequest for other namespaces, and UnknownNamespace where the store was opened without it.
        """
        checks.check_retirement(namespace, name, as_of)
        namespaces.check(namespace, self._declared)
        if self.external is not None and self.external.server_of(namespace) is not None:
            raise validation.refuse(f"namespace {namespace!r} is on another server: it has no names to retire")
        return self._run(providing.retire, namespace, name, as_of)

    def _check_growth(self, changes: Sequence[ProviderChange]) -> None:
        if self.bounds.is_full(HOSTS) and any(map(self._may_grow, changes)):
            self.bounds.check(HOSTS)

    def _may_grow(self, change: ProviderChange) -> bool:
        """Return whether a provider would be new, or have more inventories, traits or aggregates than before."""
        stored = self._read(providing.read, [change.provider]).get(change.provider)
        if isinstance(change, (CreateProvider, ImportProvider)):
            return stored is None
        if stored is None or isinstance(change, AddInventory):
            return stored is not None
        parts = {SetInventories: "inventories", SetTraits: "traits", SetAggregates: "aggregates"}.get(type(change))
        return parts is not None and len(getattr(change, parts)) > len(stored.document.get(parts, ()))
