# SPDX-License-Identifier: Apache-2.0
"""Providers and allocations as the Placement API reads and changes them."""

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
IMPORTED_AT_ONCE = 50  # providers per write; Redis serves no other command during a write


class ProviderStore(VerbRunner, Protocol):
    """Providers owned by agents and by the API.

    A provider's id is names.api_provider(uuid), or the name that an agent reports. Its generation never repeats during
    its life, even in a later epoch. The changes below increase the generation. For API-owned providers, each verb that
    adds claims also increases it, by one.
    """

    def read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        """Return {id: state} of the existing providers, in one atomic read. Accepts at most MAX_PAGE ids."""
        checks.check_ids(ids, validation.MAX_PAGE)
        return self._read(providing.read, ids)

    def read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        """Return {id: generation} of all ids, in order, even of missing providers.

        Up to READ_AT_ONCE ids are read at once.
        """
        checks.check_ids(ids)
        generations: dict[str, int] = {}
        for batch in paging.batches(ids, READ_AT_ONCE):
            generations |= self._read(providing.read_generations, batch)
        return generations

    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        """Apply one change atomically; return the provider's new state or the refusal.

        After a deletion, returns the last state. Changes of traits, aggregates or the tree make earlier decisions on
        the tree stale. Raises InvalidRequest for malformed names, inventories, traits or aggregates, InvalidName for
        malformed ids, and StoreUnavailable under too much contention.
        """
        checks.check(change)
        self._check_growth([change])
        return certain(self.repeats, lambda: self._run(providing.change, change))

    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        """Store 1 to MAX_IMPORTS providers in order; return a refusal or None for each.

        Each provider is stored atomically, but the call is not: after InvalidRequest, InvalidName or StoreUnavailable
        some providers may be stored, and the call may be repeated. A call is fastest if none of its providers is the
        parent of a different one.
        """
        checks.check_imports(imports)
        self._check_growth(imports)
        parts = paging.batches(imports, IMPORTED_AT_ONCE)
        return [refusal for part in parts for refusal in self._run(providing.import_all, part)]

    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        """Delete a custom trait or resource class that no provider used at log position ``as_of``.

        ``namespace`` is "trait" or "resource_class" (VOCABULARIES); ``put_state`` creates their documents. The caller
        has checked all providers in a replica that applied the log up to ``as_of``. Refused with BEHIND if any
        provider's traits or inventories changed later: follow the log to ``actual`` and check again. Does nothing if
        the name has no document. Raises InvalidRequest for other namespaces, and UnknownNamespace if the store does
        not declare the namespace.
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
    """Allocations of consumers: claims of agents and of the Placement API."""

    def read_allocations(self, consumers: Sequence[str]) -> dict[str, Claim]:
        """Return {consumer: live claim as clients see it}, without consumers that have none.

        Accepts at most MAX_REFS consumers.
        """
        validation.check_consumers(consumers)
        return self._run(allocating.read, consumers)

    def list_holders(self, provider: str, marker: str | None = None, limit: int = 1000) -> paging.Page[Claim]:
        """Return a page of claims (unverified ones too) with allocations from ``provider``, and the next marker."""
        validation.check_name(provider)
        validation.check_page(limit, marker)
        return self._run(allocating.list_holders, provider, marker, limit)

    def usages(self, project: str, user: str | None = None, consumer_type: str | None = None) -> dict[str, Usage]:
        """Return {consumer type: usage} of ``project``, optionally of one user or consumer type only.

        Redis reads a thousand sums at a time; several such reads are not atomic.
        """
        allocations.check_usages(project, user, consumer_type)
        return self._run(allocating.usages, project, user, consumer_type)

    def allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        """Replace the allocations of all these consumers, or of none; return the refusal or None.

        Former allocations are freed first. A sum above capacity is accepted if it does not grow. Every amount must obey
        min_unit, max_unit and step_size. Refusals:

        - CONSUMER: the consumer's generation is not the one that the client sent;
        - OWNER: the consumer's claim belongs to an agent, or is unverified. A confirmed claim of an agent can be
          changed with its generation, but not ended; it keeps its host, attempt and owner;
        - GUEST: an agent's claim would fall below what its guest uses;
        - PROVIDER, INVENTORY, UNITS, CAPACITY: see RefusalKind; the refusal names the provider and resource class;
        - CLOSED: the allocation from an agent's provider would grow before the agent has audited.
        """
        allocations.check(changes)
        self._check_consumers(changes)
        return certain(self.repeats, lambda: self._run(allocating.allocate, changes))

    def import_allocations(self, imports: Sequence[ConsumerImport], *, overwrite: bool = False) -> Refusal | None:
        """Store allocations of another Placement for all these consumers, or for none; return the refusal or None.

        Capacity, units and inventories are not checked: excess is stored and flagged. Refusals:

        - OWNER: the consumer's claim belongs to an agent, or is unverified;
        - CONSUMER: a client of the API wrote the allocations (``actual``: their generation), unless ``overwrite``;
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
    """Reshapes: moves of inventories between providers, together with their allocations."""

    def reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        """Replace inventories and allocations, all or nothing; return the refusal or None.

        Allocations are checked like in ``allocate``, while each provider has both its new and its old inventories.
        Afterwards the removed inventories must be unused. A provider's generation grows by one for new inventories, by
        one for new allocations, and by one for removed inventories. Accepts at most MAX_RESHAPED providers, and 0 to
        MAX_CONSUMERS consumers. Refusals of ``allocate`` name a ``consumer``; additional refusals:

        - PROVIDER, OWNER, GENERATION: a provider's inventories cannot be replaced; see RefusalKind;
        - IN_USE: a provider would lose resource classes that are in use.
        """
        reshaping_checks.check(inventories, changes)
        self._check_consumers(changes)
        self._check_growth(inventories)
        return certain(self.repeats, lambda: self._run(reshaping.reshape, inventories, changes))
