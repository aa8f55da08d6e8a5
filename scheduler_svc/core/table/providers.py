# SPDX-License-Identifier: Apache-2.0
"""All providers of one partition: columns of the roots, and columns of the child providers."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from rpcapi.resources import names
from scheduler_svc.core.table.columns import Column
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.provider_rows import NOT_API
from scheduler_svc.core.table.rows import HostRows
from scheduler_svc.core.table.trees import TreeColumns, descendant_columns


class ProviderRow(NamedTuple):
    """Provider without resources. ``parent`` and ``root`` are ids; ``changed_ms`` is None for agents' providers."""

    id: str
    name: str
    parent: str | None
    root: str
    changed_ms: int | None


class ProviderMask(NamedTuple):
    roots: Column
    below: Column

    def __and__(self, other: "ProviderMask") -> "ProviderMask":
        return ProviderMask(self.roots & other.roots, self.below & other.below)


class PartitionProviders:
    """Providers of one partition, including those that are not hosts. ``present`` masks the existing providers."""

    __slots__ = ("_below", "_part", "_roots", "_table", "present")

    def __init__(self, table: HostRows, trees: TreeColumns, number: int) -> None:
        self._table = table
        self._part = table.partitions[number]
        self._roots = trees.hosts
        self._below = descendant_columns(self._part.forest)
        size = self._roots.size
        present_roots = table.present[:size] & (table.partition[:size] == number)
        self.present = ProviderMask(present_roots, self._part.forest.present[: self._below.size])

    def matching(self, test: Callable[[ProviderColumns], Column]) -> ProviderMask:
        return ProviderMask(test(self._roots), test(self._below))

    def with_id(self, provider: str) -> ProviderMask:
        mask = self._no_rows()
        for column, rows in zip(mask, (self._part.rows, self._part.forest.rows), strict=True):
            if provider in rows:
                column[rows[provider]] = True
        return mask

    def named(self, name: str) -> ProviderMask:
        mask = self._no_rows() if names.is_api_provider(name) else self.with_id(name)
        forest = self._part.forest
        for column, api in zip(mask, (self._table.api, forest.api), strict=True):
            column[api.named(name)] = True
        return mask

    def in_tree(self, provider: str) -> ProviderMask:
        mask, forest = self._no_rows(), self._part.forest
        root_row, row = self._part.rows.get(provider), forest.rows.get(provider)
        if root_row is None or not self.present.roots[root_row]:
            if row is None or not self.present.below[row]:
                return mask
            root_row = int(forest.root[row])
        mask.roots[root_row] = True
        mask.below[:] = forest.root[: self._below.size] == root_row
        return mask

    def rows(self, mask: ProviderMask) -> Iterator[ProviderRow]:
        """Yield the existing providers of a mask: roots, then child providers, each in row order."""
        existing, ids, forest = mask & self.present, self._table.names, self._part.forest
        rows = np.flatnonzero(existing.roots)
        times = self._table.api.changed_ms[rows].tolist()
        for row, changed_ms in zip(rows.tolist(), times, strict=True):
            provider = ids[row]
            yield ProviderRow(provider, self._table.api.name(row, provider), None, provider, _time(changed_ms))
        rows = np.flatnonzero(existing.below)
        times, root_rows = forest.api.changed_ms[rows].tolist(), forest.root[rows].tolist()
        for row, root_row, changed_ms in zip(rows.tolist(), root_rows, times, strict=True):
            provider = forest.names[row]
            name, parent = forest.api.name(row, provider), forest.parent(row)
            yield ProviderRow(provider, name, parent, ids[root_row], _time(changed_ms))

    def traits_in_use(self) -> set[str]:
        tables = (self._table.traits, self._part.forest.traits)
        return set().union(*(traits.in_use(column) for traits, column in zip(tables, self.present, strict=True)))

    def classes_in_use(self) -> set[str]:
        return {
            name
            for columns, rows in zip((self._roots, self._below), map(np.flatnonzero, self.present), strict=True)
            for name, resources in columns.resources.items()
            if resources.has_inventory(rows).any()
        }

    def _no_rows(self) -> ProviderMask:
        return ProviderMask(np.zeros(self._roots.size, np.bool_), np.zeros(self._below.size, np.bool_))


def _time(changed_ms: int) -> int | None:
    return None if changed_ms == NOT_API else changed_ms
