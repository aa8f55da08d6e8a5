# SPDX-License-Identifier: Apache-2.0
"""The verbs of the Placement API in Python, and the exclusive access to a partition that all verbs have."""

import abc
import copy
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from scheduler_svc.store import allocations, interface, namespaces, tallies, validation
from scheduler_svc.store.allocations import AllocationChange, ConsumerImport, ConsumerState, Usage
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers import reshaping as reshape_plans
from scheduler_svc.store.providers.changes import ImportProvider, ProviderChange, ProviderState, Refusal, SetInventories
from scheduler_svc.store.verbs import allocating, importing, providing, reshaping
from scheduler_svc.store.verbs.partition import PartitionState

T = TypeVar("T")

ALL = 1 << 60  # claims past their deadline, when all of them must be ended first


class ApiVerbStore(interface.Store):
    """The verbs of the Placement API for any backend."""

    _declared: Collection[str]  # namespaces besides the built-in ones

    @abc.abstractmethod
    def _transact(self, step: Callable[[PartitionState, int], T]) -> T:
        """Return what ``step`` returns, given the partition and its own time in milliseconds, which advances first.

        Raises StoreUnavailable.
        """

    @abc.abstractmethod
    def _read(self, step: Callable[[PartitionState], T]) -> T:
        """Return what ``step`` reads; raises StoreUnavailable."""

    def read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        checks.check_ids(ids, validation.MAX_PAGE)
        return self._read(lambda partition: copy.deepcopy(providing.read(partition, ids)))

    def read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        checks.check_ids(ids, checks.MAX_GENERATIONS)
        return self._read(lambda partition: providing.read_generations(partition, ids))

    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        checks.check(change)
        return self._transact(lambda partition, now: copy.deepcopy(providing.change(partition, change, now)))

    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        checks.check_imports(imports)
        return self._transact(lambda partition, now: providing.import_all(partition, imports, now))

    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        checks.check_retirement(namespace, name, as_of)
        namespaces.check(namespace, self._declared)
        return self._transact(lambda partition, _now: providing.retire(partition, namespace, name, as_of))

    def read_allocations(self, consumers: Sequence[str]) -> dict[str, ConsumerState]:
        validation.check_consumers(consumers)
        return self._transact(lambda partition, now: copy.deepcopy(allocating.read(partition, consumers, now)))

    def list_holders(
        self, provider: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[ConsumerState], str | None]:
        validation.check_name(provider)
        validation.check_page(limit)
        validation.check_marker(marker)
        return self._transact(
            lambda partition, now: copy.deepcopy(allocating.list_holders(partition, provider, marker, limit, now))
        )

    def usages(self, project: str, user: str | None = None, consumer_type: str | None = None) -> dict[str, Usage]:
        allocations.check_usages(project, user, consumer_type)

        def step(partition: PartitionState, now: int) -> dict[str, Usage]:
            partition.expire(now, ALL)
            return tallies.usages(tallies.rows_of(partition.tallies_of(project), user), consumer_type)

        return self._transact(step)

    def allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        allocations.check(changes)
        copied = copy.deepcopy(changes)
        return self._transact(lambda partition, now: allocating.allocate(partition, copied, now))

    def import_allocations(self, imports: Sequence[ConsumerImport], *, overwrite: bool = False) -> Refusal | None:
        allocations.check_imports(imports)
        copied = copy.deepcopy(imports)
        return self._transact(
            lambda partition, now: importing.import_allocations(partition, copied, now, overwrite=overwrite)
        )

    def reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        reshape_plans.check(inventories, changes)
        copied = copy.deepcopy(changes)
        return self._transact(lambda partition, now: reshaping.reshape(partition, inventories, copied, now))
