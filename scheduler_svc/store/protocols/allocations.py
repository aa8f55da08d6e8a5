# SPDX-License-Identifier: Apache-2.0
"""Allocations as the Placement API reads and replaces them."""

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
    """What consumers hold, by claims of either owner."""

    repeats: RepeatCounter

    def read_allocations(self, consumers: Sequence[str]) -> dict[str, ConsumerState]:
        """Return what each of ``consumers`` holds that holds anything; at most MAX_REFS."""
        validation.check_consumers(consumers)
        return self._run(allocating.read, consumers)

    def list_holders(
        self, provider: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[ConsumerState], str | None]:
        """Return a page of what consumers hold that hold anything from ``provider``, by consumer, and the next marker.

        An unverified claim of a consumer is listed too, because it counts.
        """
        validation.check_name(provider)
        validation.check_page(limit, marker)
        return self._run(allocating.list_holders, provider, marker, limit)

    def usages(self, project: str, user: str | None = None, consumer_type: str | None = None) -> dict[str, Usage]:
        """Return what the consumers of ``project`` hold, by consumer type; of one user or one type if these are set.

        Each claim keeps these sums up to date. Redis returns up to a thousand of them at one moment, and those of a
        project with more in several steps.
        """
        allocations.check_usages(project, user, consumer_type)
        return self._run(allocating.usages, project, user, consumer_type)

    def allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        """Replace what these consumers hold, all of them or none; return why it is refused, or None.

        What they held is freed first. A sum may be above the capacity only where it does not grow. Each amount obeys
        min_unit, max_unit and step_size. Refused with

        - CONSUMER: its generation is another one than was sent;
        - OWNER: an agent owns the claim by which the consumer holds, or reports an unverified one. A confirmed one
          can be replaced by a change with its generation, but not ended: it keeps its host, attempt and owner;
        - PROVIDER, INVENTORY, UNITS, CAPACITY: of that provider and resource class;
        - CLOSED: more would be held from an agent's provider that must be audited first.
        """
        allocations.check(changes)
        self._check_consumers(changes)
        return certain(self.repeats, lambda: self._run(allocating.allocate, changes))

    def import_allocations(self, imports: Sequence[ConsumerImport], *, overwrite: bool = False) -> Refusal | None:
        """Store what consumers hold in another Placement, all of them or none; return why it is refused, or None.

        Capacities, units and inventories are not compared: an excess is stored, and flagged. Refused with

        - OWNER: the consumer holds by a claim that an agent owns, or an agent reports an unverified one;
        - CONSUMER: a client of the API wrote it, unless ``overwrite``; ``actual`` is its generation;
        - PROVIDER: there is no such provider.
        """
        allocations.check_imports(imports)
        self._check_consumers(imports)
        return self._run(importing.import_allocations, imports, overwrite=overwrite)

    def _check_consumers(self, changes: Sequence[AllocationChange | ConsumerImport]) -> None:
        if self.bounds.is_full(CLAIMS):
            consumers = [change.consumer for change in changes if change.allocations]
            if len(self._run(allocating.read, consumers)) < len(consumers):
                self.bounds.check(CLAIMS)
