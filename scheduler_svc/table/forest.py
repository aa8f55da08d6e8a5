# SPDX-License-Identifier: Apache-2.0
"""Providers below the hosts of one partition: a row each, apart from the hosts' own rows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from scheduler_svc.store.records import Amounts
from scheduler_svc.table.columns import FIRST_ROWS, Column, IntColumn, grown
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.traits import TraitColumns

NOWHERE = -1


class Forest:
    """One row a provider that is no root, numbered as they were first heard of; no row is given to another.

    ``root`` is the row of its root among the hosts, NOWHERE of one that is gone; ``there`` tells which are not.
    ``version`` grows whenever the places of providers or their aggregates change.
    """

    __slots__ = (
        *("_below", "_parents", "_provider_at", "_used_at", "aggregates", "names", "resources", "root", "rows"),
        *("there", "traits", "version"),
    )

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}
        self.names: list[str] = []
        self.there: Column = np.zeros(FIRST_ROWS, np.bool_)
        self.root: IntColumn = np.full(FIRST_ROWS, NOWHERE, np.int64)
        self.resources: dict[str, ResourceColumns] = {}
        self.traits = TraitColumns(FIRST_ROWS)
        self.aggregates = TraitColumns(FIRST_ROWS)
        self.version = 0
        self._parents: list[str] = []
        self._below: dict[int, list[int]] = {}  # row of a host -> rows here
        self._provider_at: list[int] = []
        self._used_at: list[int] = []

    @property
    def size(self) -> int:
        """How many rows there are."""
        return len(self.names)

    @property
    def is_empty(self) -> bool:
        """Tell whether no provider is below another."""
        return not self._below

    def below(self, host: int) -> Sequence[int]:
        """Return the rows of all providers below a host, in no order."""
        return self._below.get(host, ())

    @property
    def hosts(self) -> Iterable[int]:
        """The rows of the hosts that have somebody below them."""
        return self._below.keys()

    def parent(self, row: int) -> str:
        """Return the name of the provider right above."""
        return self._parents[row]

    def provider_at(self, name: str) -> int:
        """Return the position from which a provider's document is; 0 where there never was one."""
        return self._provider_at[self.rows[name]] if name in self.rows else 0

    def used_at(self, name: str) -> int:
        """Return the position from which a provider's sums are; 0 where there never were any."""
        return self._used_at[self.rows[name]] if name in self.rows else 0

    def set_provider(self, name: str, provider: Mapping[str, Any] | None, host: int, position: int) -> None:
        """Take over a document, None: there is no such provider here (any more). ``host`` is its root's row."""
        row = self._row(name)
        self._provider_at[row] = position
        given = provider or {}
        self._parents[row] = given.get("parent") or ""
        self._hang(row, NOWHERE if provider is None else host)
        inventories = given.get("inventories", {})
        for resource_class in inventories.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            columns.set_inventory(row, inventories.get(resource_class))
        self.traits.give(row, given.get("traits", ()))

    def set_used(self, name: str, amounts: Amounts, position: int) -> None:
        """Take over the sums of live claims, unless later ones are known."""
        row = self._row(name)
        if position < self._used_at[row]:
            return
        self._used_at[row] = position
        for resource_class in amounts.keys() - self.resources.keys():
            self.resources[resource_class] = ResourceColumns(len(self.there))
        for resource_class, columns in self.resources.items():
            columns.set_used(row, amounts.get(resource_class, 0))

    def used(self, name: str) -> dict[str, int]:
        """Return the sums of live claims."""
        row = self.rows[name]
        return {each: int(columns.used[row]) for each, columns in self.resources.items() if columns.used[row]}

    def give_aggregates(self, name: str, aggregates: Iterable[str]) -> None:
        """Let a provider belong to exactly these aggregates; fine where there is none of that name."""
        if name in self.rows:
            row, given = self.rows[name], set(aggregates)
            if given != self.aggregates.of(row):
                self.aggregates.give(row, given)
                self.version += 1

    def move(self, hosts: Sequence[int]) -> None:
        """Let host i be ``hosts[i]`` from now on."""
        self._below = {hosts[host]: rows for host, rows in self._below.items()}
        for host, rows in self._below.items():
            self.root[rows] = host
        self.version += 1

    def _hang(self, row: int, host: int) -> None:
        former = int(self.root[row])
        if former == host:
            return  # most reports: who is served by whom stays as it was found
        if former != NOWHERE:
            self._below[former].remove(row)
            if not self._below[former]:
                del self._below[former]
        if host != NOWHERE:
            self._below.setdefault(host, []).append(row)
        self.root[row] = host
        self.there[row] = host != NOWHERE
        self.version += 1

    def _row(self, name: str) -> int:
        row = self.rows.setdefault(name, len(self.names))
        if row == len(self.names):
            if row == len(self.there):
                self._grow(2 * row)
            self.names.append(name)
            self._parents.append("")
            self._provider_at.append(0)
            self._used_at.append(0)
        return row

    def _grow(self, size: int) -> None:
        self.there = grown(self.there, size)
        self.root = grown(self.root, size, NOWHERE)
        self.traits.grow(size)
        self.aggregates.grow(size)
        for columns in self.resources.values():
            columns.grow(size)
