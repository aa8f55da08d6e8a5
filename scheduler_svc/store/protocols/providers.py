# SPDX-License-Identifier: Apache-2.0
"""Providers of the Placement API, their allocations, and changes of both."""

from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.core.records import Claim
from scheduler_svc.store import allocations, namespaces, paging, validation
from scheduler_svc.store.allocations import AllocationChange, ConsumerImport, Usage
from scheduler_svc.store.bounded import CLAIMS, HOSTS
from scheduler_svc.store.certainty import certain
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers import reshaping as reshaping_checks
from scheduler_svc.store.providers.changes import (
    CreateProvider,
    ImportProvider,
    ProviderChange,
    ProviderState,
    Refusal,
    SetAggregates,
    SetInventories,
    SetInventory,
    SetTraits,
)
from scheduler_svc.store.verbs import allocating, importing, providing, reshaping

READ_AT_ONCE = 10_000  # generations per read
IMPORTED_AT_ONCE = 50  # providers per write; Redis serves nothing else meanwhile


class ProviderStore(VerbRunner, Protocol):
    """Providers of agents and of the API. An id is names.api_provider(uuid), or the name that an agent reports.

    A generation never repeats during a provider's life, across epochs. The changes below increase it; for API-owned
    providers, so does each verb that adds claims, once.
    """

    def read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        """Return the state of each existing provider, in one atomic read. Accepts at most MAX_PAGE ids."""
        checks.check_ids(ids, validation.MAX_PAGE)
        return self._read(providing.read, ids)

    def read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        """Return the generation of each id, existing or not, in order. More than READ_AT_ONCE are several reads."""
        checks.check_ids(ids)
        generations: dict[str, int] = {}
        for batch in paging.batches(ids, READ_AT_ONCE):
            generations |= self._read(providing.read_generations, batch)
        return generations

    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        """Apply one change atomically; return the provider's new state (after a deletion its last), or the refusal.

        Changes of traits, aggregates or the tree invalidate earlier decisions on the tree. Raises InvalidRequest for
        malformed ids, names, inventories, traits or aggregates, InvalidName, and StoreUnavailable under too much
        contention.
        """
        checks.check(change)
        self._check_growth([change])
        return certain(self.repeats, lambda: self._run(providing.change, change))

    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        """Store 1 to MAX_IMPORTS providers in order; return a refusal or None for each.

        Each provider is atomic, the call is not: after InvalidRequest, InvalidName or StoreUnavailable some may be
        stored, and the call may be repeated. Fastest if no provider is the parent of another one in the call.
        """
        checks.check_imports(imports)
        self._check_growth(imports)
        parts = paging.batches(imports, IMPORTED_AT_ONCE)
        return [refusal for part in parts for refusal in self._run(providing.import_all, part)]

    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        """Delete a custom trait or resource class that no provider used at log position ``as_of``.

        ``namespace`` is VOCABULARIES' "trait" or "resource_class", whose documents ``put_state`` creates. The caller
        has checked all providers in a replica that applied the log up to ``as_of``. Refused with BEHIND if traits or
        inventories of any provider changed later: follow the log to ``actual`` and check again. Does nothing without a
        document. Raises InvalidRequest for other namespaces, UnknownNamespace if the store was opened without it.
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
        stored = self._read(providing.read, [change.provider]).get(change.provider)
        if isinstance(change, (CreateProvider, ImportProvider)):
            return stored is None
        if stored is None:
            return False
        if isinstance(change, SetInventory):
            return change.is_new
        parts = {SetInventories: "inventories", SetTraits: "traits", SetAggregates: "aggregates"}.get(type(change))
        return parts is not None and len(getattr(change, parts)) > len(stored.document.get(parts, ()))


class AllocationStore(VerbRunner, Protocol):
    """Allocations of consumers, in claims of agents and of the Placement API."""

    def read_allocations(self, consumers: Sequence[str]) -> dict[str, Claim]:
        """Return the live claim of each consumer that has one, as clients see it. Takes up to MAX_REFS consumers."""
        validation.check_consumers(consumers)
        return self._run(allocating.read, consumers)

    def list_holders(self, provider: str, marker: str | None = None, limit: int = 1000) -> paging.Page[Claim]:
        """Return a page of the claims, even unverified, with allocations from ``provider``, and the next marker."""
        validation.check_name(provider)
        validation.check_page(limit, marker)
        return self._run(allocating.list_holders, provider, marker, limit)

    def usages(self, project: str, user: str | None = None, consumer_type: str | None = None) -> dict[str, Usage]:
        """Return the usage of ``project`` by consumer type, optionally only of one user or one type.

        Redis reads up to a thousand sums atomically, and more in several steps.
        """
        allocations.check_usages(project, user, consumer_type)
        return self._run(allocating.usages, project, user, consumer_type)

    def allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        """Replace the allocations of all these consumers, or of none; return the refusal or None.

        Former allocations are freed first. A sum above capacity is accepted if it does not grow. Every amount must obey
        min_unit, max_unit and step_size. Refusals:

        - CONSUMER: another generation than the one sent;
        - OWNER: the consumer's claim belongs to an agent, or is unverified. A confirmed claim of an agent can be
          changed with its generation, but not ended; it keeps its host, attempt and owner;
        - PROVIDER, INVENTORY, UNITS, CAPACITY: of that provider and resource class;
        - CLOSED: the allocation on an agent's provider would grow before the provider was audited.
        """
        allocations.check(changes)
        self._check_consumers(changes)
        return certain(self.repeats, lambda: self._run(allocating.allocate, changes))

    def import_allocations(self, imports: Sequence[ConsumerImport], *, overwrite: bool = False) -> Refusal | None:
        """Store allocations of another Placement for all these consumers, or for none; return the refusal or None.

        Capacity, units and inventories are not checked: excess is stored and flagged. Refusals:

        - OWNER: the consumer's claim belongs to an agent, or is unverified;
        - CONSUMER: a client of the API wrote it, unless ``overwrite``; ``actual`` is its generation;
        - PROVIDER: no such provider.
        """
        allocations.check_imports(imports)
        self._check_consumers(imports)
        return self._run(importing.import_allocations, imports, overwrite=overwrite)

    def _check_consumers(self, changes: Sequence[AllocationChange | ConsumerImport]) -> None:
        if self.bounds.is_full(CLAIMS):
            consumers = [change.consumer for change in changes if change.allocations]
            if len(self._run(allocating.read, consumers)) < len(consumers):
                self.bounds.check(CLAIMS)


class ReshapingStore(AllocationStore, ProviderStore, Protocol):
    """Moves of inventories between providers, together with their allocations."""

    def reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        """Replace inventories and allocations, all or nothing; return the refusal or None.

        Allocations are checked as in ``allocate``, while each provider has its new inventories and its old ones; the
        old ones must be unused afterwards. A provider's generation grows by one for new inventories, one for new
        allocations, and one for removed inventories. Accepts at most MAX_RESHAPED providers and MAX_CONSUMERS consumers
        (or none). Refusals, in addition to those in ``allocate``, which have ``consumer`` set:

        - PROVIDER, OWNER, GENERATION: of a provider whose inventories are replaced;
        - IN_USE: of the classes that it would lose.
        """
        reshaping_checks.check(inventories, changes)
        self._check_consumers(changes)
        self._check_growth(inventories)
        return certain(self.repeats, lambda: self._run(reshaping.reshape, inventories, changes))
