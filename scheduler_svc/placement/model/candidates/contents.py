# SPDX-License-Identifier: Apache-2.0
"""Inventories, usage and traits of providers, read from the host table's columns."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from scheduler_svc.core.table.columns import IntColumn, Rows
from scheduler_svc.core.table.provider_columns import ProviderColumns
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.core.table.traits import names_in
from scheduler_svc.core.table.view import View
from scheduler_svc.placement.model.candidates.deadline import Deadline
from scheduler_svc.store import paging

MAX_ROOTS = 2000  # roots per read, so that updates of the table do not wait long
NO_INVENTORY = -1  # marker among capacities, which are never negative


class Legend(NamedTuple):
    """Meaning of providers' numbers: the resource classes, and the trait of each bit."""

    classes: tuple[str, ...]
    traits: tuple[str, ...]

    def trait_names(self, words: Iterable[int]) -> list[str]:
        """Return a provider's traits from its words: sorted, custom traits last."""
        return sorted(names_in(self.traits, words), key=lambda name: (name.startswith("CUSTOM_"), name))


@dataclass(frozen=True, slots=True)
class ProviderContents:
    """Contents of several providers at one time, with an element per provider.

    All of them are roots, or all are below roots of one partition.

    Attributes:
        rows: Rows in the columns of roots, or of the partition's child providers.
        parents: None for roots.
        numbers: Integers by [number, provider]: capacity per class (or NO_INVENTORY), usage per class, 64-bit words of
            traits. ``legend`` names the classes and traits.
    """

    rows: Rows
    ids: Sequence[str]
    parents: Sequence[str | None]
    roots: Sequence[str]
    numbers: IntColumn
    legend: Legend

    def at(self, indices: Rows) -> "ProviderContents":
        ids, parents, roots = (
            [names[index] for index in indices.tolist()] for names in (self.ids, self.parents, self.roots)
        )
        return replace(
            self, rows=self.rows[indices], ids=ids, parents=parents, roots=roots, numbers=self.numbers[:, indices]
        )

    def among(self, ids: Collection[str]) -> "ProviderContents":
        return self.at(np.flatnonzero([name in ids for name in self.ids]))

    @property
    def capacities(self) -> IntColumn:
        return self.numbers[: len(self.legend.classes)]

    @property
    def used(self) -> IntColumn:
        return self.numbers[len(self.legend.classes) : 2 * len(self.legend.classes)]

    @property
    def trait_words(self) -> list[tuple[int, ...]]:
        """Words of each provider's traits, as Legend.trait_names takes them."""
        words = self.numbers[2 * len(self.legend.classes) :].view(np.uint64)
        return list(map(tuple, words.T.tolist()))


def read_trees(
    table: HostTable, names: Sequence[str], deadline: Deadline
) -> tuple[list[ProviderContents], list[ProviderContents]]:
    """Return the named roots and the providers below them, if they still exist. Raises Problem 503 at the deadline."""
    roots: list[ProviderContents] = []
    below: list[ProviderContents] = []
    for batch in paging.batches(names, MAX_ROOTS):
        deadline.require()
        with table.reading() as view:
            roots.append(_read_roots(view, batch))
            below += _read_below(view, roots[-1].rows)
    return roots, below


def _read_roots(view: View, names: Sequence[str]) -> ProviderContents:
    rows = view.rows(names)
    rows = rows[view.present[rows]]
    ids = names if len(rows) == len(names) else view.names(rows)
    return ProviderContents(rows, ids, [None] * len(ids), ids, *_numbers(view.hosts, rows))


def _read_below(view: View, roots: Rows) -> Iterator[ProviderContents]:
    """Yield the providers below these rows, partition by partition."""
    column = np.zeros(view.size, np.bool_)
    column[roots] = True
    for forest, providers in view.trees.forests:
        rows = forest.rows_below(column)
        if len(rows):
            numbers = rows.tolist()
            ids, parents = [forest.names[row] for row in numbers], [forest.parent(row) for row in numbers]
            yield ProviderContents(rows, ids, parents, view.names(forest.root[rows]), *_numbers(providers, rows))


def _numbers(providers: ProviderColumns, rows: Rows) -> tuple[IntColumn, Legend]:
    columns, words = list(providers.resources.values()), providers.traits.words
    numbers = [np.where(column.has_inventory(rows), column.capacity[rows], NO_INVENTORY) for column in columns]
    numbers += [column.used[rows] for column in columns]
    numbers += [word[rows].view(np.int64) for word in words]
    shape = 2 * len(columns) + len(words), len(rows)
    return np.array(numbers, np.int64).reshape(shape), Legend(tuple(providers.resources), providers.traits.names)
