# SPDX-License-Identifier: Apache-2.0
"""Inventories and allocations as the Placement API changes them together."""

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
    """Providers whose inventories move to others, with what consumers hold from them."""

    def reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        """Replace inventories, and what consumers hold, all or nothing; return why it is refused, or None.

        For the changes of allocations, as ``allocate`` judges them, each provider has its new inventories, and those
        that it loses as they were. Those must not be in use afterwards. A provider's generation is increased by one
        for its new inventories if it has any, by one as ``allocate`` does, and by one when the others are removed. At
        most MAX_RESHAPED providers, and MAX_CONSUMERS consumers or none. Refused as ``allocate`` is, ``consumer`` is
        then set, and with

        - PROVIDER, OWNER, GENERATION: of a provider whose inventories are replaced;
        - IN_USE: of the classes that it would lose.
        """
        reshaping_checks.check(inventories, changes)
        self._check_consumers(changes)
        self._check_growth(inventories)
        return certain(self.repeats, lambda: self._run(reshaping.reshape, inventories, changes))
