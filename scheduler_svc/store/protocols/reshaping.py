# SPDX-License-Identifier: Apache-2.0
"""Atomic changes of inventories and allocations by the Placement API."""

from collections.abc import Sequence
from typing import Protocol

from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.certainty import certain
from scheduler_svc.store.protocols.allocations import AllocationStore
from scheduler_svc.store.protocols.providers import ProviderStore
from scheduler_svc.store.providers import reshaping as reshaping_checks
from scheduler_svc.store.providers.changes import Refusal, SetInventories
from scheduler_svc.store.verbs import reshaping


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
