# SPDX-License-Identifier: Apache-2.0
"""Lookup and changes of resource providers by UUID."""

from collections.abc import Callable, Iterable
from functools import partial

from rpcapi.resources import names
from rpcapi.resources.groups import RequestGroup
from rpcapi.validation.instances import canonical_uuid, is_uuid
from scheduler_svc.core.matching.group_columns import can_serve_alone
from scheduler_svc.core.provider_uuids import AgentIdentities, uuid_of
from scheduler_svc.core.table.providers import PartitionProviders, ProviderRow
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.placement.model.freshness import Freshness
from scheduler_svc.placement.model.problems import Problem, no_provider, refused_change
from scheduler_svc.store import paging
from scheduler_svc.store.protocols.providers import ProviderStore
from scheduler_svc.store.providers.changes import ProviderChange, ProviderState, Refusal
from scheduler_svc.store.validation import MAX_PAGE


class ProviderDirectory:
    """Providers of one partition, with UUIDs as keys. ``number`` is the partition's number in ``table``."""

    def __init__(self, store: ProviderStore, table: HostTable, number: int, freshness: Freshness) -> None:
        self._store = store
        self._table = table
        self._number = number
        self._freshness = freshness
        self._agents = AgentIdentities()

    def id_of(self, uuid: str) -> str | None:
        """Return the provider id of a UUID, None if malformed. Until learned, agents' providers look API-owned."""
        return self._id_of(uuid) if is_uuid(uuid.lower()) else None

    def learn_agents(self) -> None:
        self._freshness.require()
        self._agents.learn(self._table.provider_ids(self._number))

    def find(self, uuid: str) -> ProviderState | None:
        return self.find_each([uuid]).get(uuid)

    def find_each(self, uuids: Iterable[str]) -> dict[str, ProviderState]:
        uuids = {uuid for uuid in uuids if is_uuid(uuid.lower())}
        providers = self._read_each(uuids)
        unknown = {uuid for uuid in uuids - providers.keys() if self._agents.find(canonical_uuid(uuid)) is None}
        if unknown:
            self.learn_agents()
            learned = {uuid for uuid in unknown if self._agents.find(canonical_uuid(uuid)) is not None}
            providers |= self._read_each(learned)
        return providers

    def find_all(
        self, group: RequestGroup, *, name: str | None, provider: str | None, tree: str | None
    ) -> list[tuple[ProviderRow, int]]:
        """Return (table row, store generation) of matching providers. ``tree`` is any provider id in the tree."""
        self._freshness.require()
        with self._table.reading_providers(self._number) as providers:
            mask = providers.present & providers.matching(partial(can_serve_alone, group=group))
            if name is not None:
                mask &= providers.named(name)
            if provider is not None:
                mask &= providers.with_id(provider)
            if tree is not None:
                mask &= providers.in_tree(tree)
            rows = list(providers.rows(mask))
        # Generations may be newer than the rows, which is harmless: no write depends on a list.
        generations = self._store.read_generations([row.id for row in rows])
        return [(row, generations[row.id]) for row in rows]

    def get(self, uuid: str) -> ProviderState:
        """Return a provider. Raises Problem 404."""
        provider = self.find(uuid)
        if provider is None:
            raise no_provider(uuid)
        return provider

    def names_in_use(self, find: Callable[[PartitionProviders], set[str]]) -> set[str]:
        self._freshness.require()
        with self._table.reading_providers(self._number) as providers:
            return find(providers)

    def change(
        self, change: ProviderChange, problem_of: Callable[[Refusal, str], Problem] = refused_change
    ) -> ProviderState:
        """Apply a change and return the provider. Raises ``problem_of(refusal, uuid)`` if refused."""
        answer = self._store.change_provider(change)
        if isinstance(answer, Refusal):
            raise problem_of(answer, uuid_of(change.provider))
        return answer

    def _id_of(self, uuid: str) -> str:
        canonical = canonical_uuid(uuid)
        return self._agents.find(canonical) or names.api_provider(canonical)

    def _read_each(self, uuids: Iterable[str]) -> dict[str, ProviderState]:
        ids = {self._id_of(uuid): uuid for uuid in uuids}
        pages = paging.batches(list(ids), MAX_PAGE)
        states = (state for page in pages for state in self._store.read_providers(page).values())
        return {ids[state.id]: state for state in states}
