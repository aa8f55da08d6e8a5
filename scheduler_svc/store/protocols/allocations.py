# SPDX-License-Identifier: Apache-2.0
"""Allocations of the Placement API."""

from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.store import allocations, validation
from scheduler_svc.store.allocations import AllocationChange, ConsumerImport, ConsumerState, Usage
from scheduler_svc.store.bounded import CLAIMS
from scheduler_svc.store.certainty import RepeatCounter, certain
from scheduler_svc.store.protocols.runner import VerbRunner
from scheduler_svc.store.providers.changes import Refusal
from scheduler_svc.store.verbs import allocating, importing


class AllocationStore(VerbRunner, Protocol):
    """Allocations of consumers, in claims of agents and of the Placement API."""

    repeats: RepeatCounter

    def read_allocations(self, consumers: Sequence[str]) -> dict[str, ConsumerState]:
        """Return the allocations of each consumer that has any. Accepts at most MAX_REFS consumers."""
        validation.check_consumers(consumers)
        return self._run(allocating.read, consumers)

    def list_holders(
        self, provider: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[ConsumerState], str | None]:
        """Return a page of the consumers with allocations, even unverified, from ``provider``, and the next marker."""
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
