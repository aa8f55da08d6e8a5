# SPDX-License-Identifier: Apache-2.0
"""Child providers of one partition's hosts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from scheduler_svc.core.records import Amounts
from scheduler_svc.core.table.columns import FIRST_ROWS, Column, IntColumn, Rows
from scheduler_svc.core.table.provider_rows import ProviderRows
from scheduler_svc.core.table.traits import TraitColumns

NO_HOST = -1


class Forest(ProviderRows):
    """Child providers of one partition, one row each. Rows are never reused.

    ``root`` is the host row of a child's root, or NO_HOST after the child's deletion. ``version`` grows whenever a root
    or aggregates change.
    """

    EMPTY: ClassVar = {**ProviderRows.EMPTY, "root": np.int64(NO_HOST)}

    root: IntColumn

    def __init__(self) -> None:
        super().__init__()
        self.rows: dict[str, int] = {}
        self.aggregates = TraitColumns(FIRST_ROWS)
        self._parts = (*self._parts, self.aggregates)
        self.version = 0
        self._parents: list[str] = []
        self._descendants: dict[int, list[int]] = {}  # host row -> rows of its child providers

    @property
    def size(self) -> int:
        return len(self.names)

    @property
    def is_empty(self) -> bool:
        return not self._descendants

    def descendants(self, host: int) -> Sequence[int]:
        return self._descendants.get(host, ())

    def rows_below(self, hosts: Column) -> Rows:
        return np.flatnonzero(hosts[self.root[: self.size]] & self.present[: self.size])

    @property
    def hosts(self) -> Iterable[int]:
        return self._descendants.keys()

    def parent(self, row: int) -> str:
        return self._parents[row]

    def ancestors(self, row: int) -> list[str]:
        """Return the names of the providers above a row, from its parent to its root."""
        names = [self._parents[row]]
        while (above := self.rows.get(names[-1])) is not None and self.present[above]:
            names.append(self._parents[above])
        return names

    def provider_position(self, name: str) -> int:
        return int(self._provider_positions[self.rows[name]]) if name in self.rows else 0

    def used_position(self, name: str) -> int:
        return int(self._used_positions[self.rows[name]]) if name in self.rows else 0

    def set_provider(self, name: str, provider: Mapping[str, Any] | None, host: int, position: int) -> None:
        """Set or delete (None) a provider's document. ``host`` is the row of the provider's root."""
        row = self._row(name)
        document = provider or {}
        self._set_document(row, document, position)
        self._parents[row] = document.get("parent") or ""
        self._attach(row, NO_HOST if provider is None else host)

    def set_used(self, name: str, amounts: Amounts, position: int) -> None:
        """Set the usage, unless newer usage is already set."""
        self.set_row_used(self._row(name), amounts, position)

    def used(self, name: str) -> dict[str, int]:
        return self.resources.used(self.rows[name])

    def set_aggregates(self, name: str, aggregates: Iterable[str]) -> None:
        """Replace a provider's aggregates. Ignores unknown providers."""
        if name in self.rows:
            row, aggregate_names = self.rows[name], set(aggregates)
            if aggregate_names != self.aggregates.of(row):
                self.aggregates.set_row(row, aggregate_names)
                self.version += 1

    def renumber_hosts(self, hosts: Sequence[int]) -> None:
        """Move the child providers of each host row i to host row ``hosts[i]``."""
        self._descendants = {hosts[host]: rows for host, rows in self._descendants.items()}
        for host, rows in self._descendants.items():
            self.root[rows] = host
        self.version += 1

    def _attach(self, row: int, host: int) -> None:
        former = int(self.root[row])
        if former == host:
            return  # the usual case
        if former != NO_HOST:
            self._descendants[former].remove(row)
            if not self._descendants[former]:
                del self._descendants[former]
        if host != NO_HOST:
            self._descendants.setdefault(host, []).append(row)
        self.root[row] = host
        self.present[row] = host != NO_HOST
        self.version += 1

    def _row(self, name: str) -> int:
        if name not in self.rows:
            self.rows[name] = self._append(name)
            self._parents.append("")
        return self.rows[name]
