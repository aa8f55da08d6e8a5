# SPDX-License-Identifier: Apache-2.0
"""The verbs of the Placement API on Redis."""

from collections.abc import Collection, Sequence

from scheduler_svc.store import interface, namespaces, validation
from scheduler_svc.store.allocations import AllocationChange, ConsumerImport, ConsumerState, Usage
from scheduler_svc.store.certainty import certain
from scheduler_svc.store.providers import checks
from scheduler_svc.store.providers.changes import ImportProvider, ProviderChange, ProviderState, Refusal, SetInventories
from scheduler_svc.store.redis import allocations, importing, providers, reshaping
from scheduler_svc.store.redis.connect import RedisConnection


class RedisApiStore(interface.Store):
    """The verbs of the Placement API."""

    _connection: RedisConnection
    _declared: Collection[str]  # namespaces besides the built-in ones

    def read_providers(self, ids: Sequence[str]) -> dict[str, ProviderState]:
        checks.check_ids(ids, validation.MAX_PAGE)
        return providers.read(self._connection, ids)

    def read_generations(self, ids: Sequence[str]) -> dict[str, int]:
        checks.check_ids(ids, checks.MAX_GENERATIONS)
        return providers.read_generations(self._connection, ids)

    def change_provider(self, change: ProviderChange) -> ProviderState | Refusal:
        checks.check(change)
        return certain(self._connection, lambda: providers.change(self._connection, change))

    def import_providers(self, imports: Sequence[ImportProvider]) -> list[Refusal | None]:
        checks.check_imports(imports)
        return importing.import_providers(self._connection, imports)

    def retire(self, namespace: str, name: str, as_of: int) -> Refusal | None:
        checks.check_retirement(namespace, name, as_of)
        namespaces.check(namespace, self._declared)
        return providers.retire(self._connection, namespace, name, as_of)

    def read_allocations(self, consumers: Sequence[str]) -> dict[str, ConsumerState]:
        validation.check_consumers(consumers)
        return allocations.read(self._connection, consumers)

    def list_holders(
        self, provider: str, marker: str | None = None, limit: int = 1000
    ) -> tuple[list[ConsumerState], str | None]:
        validation.check_name(provider)
        validation.check_page(limit)
        validation.check_marker(marker)
        return allocations.list_holders(self._connection, provider, marker, limit)

    def usages(self, project: str, user: str | None = None, consumer_type: str | None = None) -> dict[str, Usage]:
        return allocations.usages(self._connection, project, user, consumer_type)

    def allocate(self, changes: Sequence[AllocationChange]) -> Refusal | None:
        return certain(self._connection, lambda: allocations.allocate(self._connection, changes))

    def import_allocations(self, imports: Sequence[ConsumerImport], *, overwrite: bool = False) -> Refusal | None:
        return allocations.import_allocations(self._connection, imports, overwrite=overwrite)

    def reshape(self, inventories: Sequence[SetInventories], changes: Sequence[AllocationChange]) -> Refusal | None:
        return certain(self._connection, lambda: reshaping.reshape(self._connection, inventories, changes))
