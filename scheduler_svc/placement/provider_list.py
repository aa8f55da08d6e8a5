# SPDX-License-Identifier: Apache-2.0
"""Lists of resource providers, from the process's own copy: only their generations are read from the store."""

from typing import NamedTuple

from scheduler_svc.core.table.table import HostTable
from scheduler_svc.placement.freshness import Freshness
from scheduler_svc.placement.identities import uuid_of
from scheduler_svc.placement.provider_filters import ProviderFilters
from scheduler_svc.store import paging
from scheduler_svc.store.protocols.providers import ProviderStore


class ListedProvider(NamedTuple):
    """A provider as lists show it; ``parent`` and ``root`` are UUIDs, ``changed_ms`` is None for an agent's."""

    uuid: str
    name: str
    generation: int
    parent: str | None
    root: str
    changed_ms: int | None


class ProviderList:
    """Answers questions about all providers of one partition from a table, with all that was acknowledged before."""

    def __init__(self, store: ProviderStore, table: HostTable, number: int, freshness: Freshness) -> None:
        """``number`` is the partition's in the table."""
        self._store = store
        self._table = table
        self._number = number
        self._freshness = freshness

    def find_all(self, filters: ProviderFilters) -> list[ListedProvider]:
        """Return the providers that fulfil all conditions."""
        self._freshness.require()
        with self._table.reading_providers(self._number) as providers:
            rows = list(providers.rows(filters.select(providers)))
        # They may be later than the rows: a generation protects nothing of what a list shows.
        generations = paging.read_generations(self._store, [row.id for row in rows])
        return [
            ListedProvider(
                uuid_of(row.id),
                row.name,
                generations[row.id],
                None if row.parent is None else uuid_of(row.parent),
                uuid_of(row.root),
                row.changed_ms,
            )
            for row in rows
        ]
