# SPDX-License-Identifier: Apache-2.0
"""Whole trees as a decision sees them: a question to all providers, answered for the hosts they serve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import numpy as np

from rpcapi.model.trees import SHARES
from scheduler_svc.table.columns import Column, FloatColumn, IntColumn, Rows, still
from scheduler_svc.table.forest import Forest
from scheduler_svc.table.resources import ResourceColumns
from scheduler_svc.table.rows import COMPUTE
from scheduler_svc.table.traits import TraitColumns

P = ParamSpec("P")

if TYPE_CHECKING:  # the table is made of what is here
    from scheduler_svc.table.aggregates import AggregatesSeen
    from scheduler_svc.table.rows import HostRows


class Providers:
    """Columns of many providers, an element each: of all hosts, or of all that hangs below hosts of a partition."""

    __slots__ = ("_aggregates", "_resources", "_traits", "size")

    def __init__(
        self,
        resources: Mapping[str, ResourceColumns],
        traits: TraitColumns,
        aggregates: Callable[[Iterable[str]], Column],
        size: int,
    ) -> None:
        self._resources = resources
        self._traits = traits
        self._aggregates = aggregates
        self.size = size

    def free(self, resource_class: str) -> FloatColumn:
        """Return capacity minus use; 0 where a provider lacks the class."""
        columns = self._resources.get(resource_class)
        return np.zeros(self.size, np.float64) if columns is None else still(columns.free, self.size)

    def left(self, resource_class: str) -> FloatColumn:
        """Return what may still be given: what is free, and nothing where more is used than there is.

        So that one which is over takes nothing from what another of its tree has.
        """
        return np.maximum(self.free(resource_class), 0.0)

    def capacity(self, resource_class: str) -> IntColumn:
        """Return what there is, used or not; 0 where a provider lacks the class."""
        columns = self._resources.get(resource_class)
        return np.zeros(self.size, np.int64) if columns is None else still(columns.capacity, self.size)

    def has_room(self, resource_class: str, amount: int) -> Column:
        """Return who has as much left."""
        return self.free(resource_class) >= amount

    def gives(self, resource_class: str, amount: int) -> Column:
        """Return who has as much left, and hands it out in such amounts."""
        columns = self._resources.get(resource_class)
        if columns is None:
            return np.zeros(self.size, np.bool_)
        room = columns.free[: self.size] >= amount
        return room & columns.hands_out(amount)[: self.size] if columns.rules else room

    def units(self, resource_class: str, amount: int) -> IntColumn:
        """Return how many times each provider gives ``amount`` to one consumer."""
        columns = self._resources.get(resource_class)
        if columns is None:
            return np.zeros(self.size, np.int64)
        room = np.minimum(columns.free, columns.max_unit)[: self.size]
        return np.where(self.gives(resource_class, amount), room // amount, 0).astype(np.int64)

    def having_all(self, traits: Iterable[str]) -> Column:
        """Return who has every one of ``traits``."""
        return self._traits.having_all(traits, self.size)

    def having_any(self, traits: Iterable[str]) -> Column:
        """Return who has at least one of ``traits``."""
        return self._traits.having_any(traits, self.size)

    def lacking(self, traits: Iterable[str]) -> Column:
        """Return who has none of ``traits``."""
        return ~self.having_any(traits)

    def members(self, aggregates: Iterable[str]) -> Column:
        """Return who is itself in at least one of these aggregates."""
        return self._aggregates(aggregates)


Test = Callable[Concatenate[Providers, P], Column]
Count = Callable[Concatenate[Providers, P], IntColumn | FloatColumn]


class Trees:
    """The hosts with what hangs below them, and with what shares with them by an aggregate."""

    __slots__ = ("_aggregates", "_sharing", "_table", "forests", "hosts")

    def __init__(self, table: HostRows, aggregates: AggregatesSeen, size: int) -> None:
        self._table = table
        self._aggregates = aggregates
        self._sharing: Rows | None = None
        self.hosts = Providers(table.resources, table.traits, aggregates.members, size)
        self.forests = [(each.forest, _below(each.forest)) for each in table.partitions if not each.forest.is_empty]

    @property
    def sharing(self) -> Rows:
        """Return the rows of the hosts that share what they have, and may be claimed of now."""
        if self._sharing is None:
            table, size = self._table, self.hosts.size
            if table.traits.knows(SHARES):
                able = table.there & table.services.alive & table.services.enabled & table.services.opened
                self._sharing = np.flatnonzero(able[:size] & self.hosts.having_any((SHARES,)))
            else:
                self._sharing = np.zeros(0, np.intp)
        return self._sharing

    @property
    def are_flat(self) -> bool:
        """Tell whether every host is all there is to its tree."""
        return not self.forests and not len(self.sharing)

    @property
    def branched(self) -> Column:
        """Return which hosts are not all there is to their trees."""
        column = np.zeros(self.hosts.size, np.bool_)
        for forest, _ in self.forests:
            column[list(forest.hosts)] = True
        for row in self.sharing.tolist():
            column |= self.served(row)
        return column

    def has_rules(self, resource_class: str) -> bool:
        """Tell whether anybody has unit rules of a class that refuse what capacity would take."""
        tables = (self._table.resources, *(forest.resources for forest, _ in self.forests))
        return any(each[resource_class].rules for each in tables if resource_class in each)

    def served(self, row: int) -> Column:
        """Return with whose trees the host of ``row`` shares: those with a member in one of its aggregates.

        Only compute hosts are served by others: a volume that is placed on a pool takes the space of that pool.
        """
        forests = [each.forest for each in self._table.partitions]
        key = ("served", row, *(each.version for each in forests))
        column = self._aggregates.once(key, lambda: self._find_served(row))
        if len(self._table.kinds) == 1:
            return column
        open_to_others = self._table.kind[: self.hosts.size] == COMPUTE
        open_to_others[row] = True
        return column & open_to_others

    def any(self, test: Test[P], *given: P.args, **named: P.kwargs) -> Column:
        """Return which hosts pass ``test``, or have somebody in their tree, or sharing with it, who does.

        ``test`` is called with Providers, and with what else is given.
        """
        own = test(self.hosts, *given, **named)
        if self.are_flat:
            return own
        column = own.copy()
        for forest, below in self.forests:
            column[forest.root[: forest.size][test(below, *given, **named) & forest.there[: forest.size]]] = True
        for row in self.sharing[own[self.sharing]].tolist():
            column |= self.served(row)
        return column

    def sum(self, count: Count[P], *given: P.args, **named: P.kwargs) -> FloatColumn:
        """Return for each host the sum of what ``count`` says of the providers of its tree, and of who shares."""
        own = count(self.hosts, *given, **named)
        column = own.astype(np.float64)
        for forest, below in self.forests:
            there = forest.there[: forest.size]
            counted = count(below, *given, **named)[there]
            column += np.bincount(forest.root[: forest.size][there], counted, len(column))
        for row in self.sharing.tolist():
            if own[row]:
                served = self.served(row).copy()
                served[row] = False  # counted as itself
                column[served] += own[row]
        return column

    def free(self, resource_class: str) -> FloatColumn:
        """Return what each host and the providers below it have left of a class, in sum."""
        return self._whole(resource_class, Providers.free)

    def capacity(self, resource_class: str) -> FloatColumn:
        """Return what each host and the providers below it have of a class, used or not, in sum."""
        return self._whole(resource_class, Providers.capacity)

    def _whole(self, resource_class: str, figure: Count[[str]]) -> FloatColumn:
        column = figure(self.hosts, resource_class).astype(np.float64)
        for forest, below in self.forests:
            if resource_class in forest.resources:
                there = forest.there[: forest.size]
                its = figure(below, resource_class)[there]
                column += np.bincount(forest.root[: forest.size][there], its, len(column))
        return column

    def sharing_with(self, row: int) -> Iterator[int]:
        """Yield the rows of those who share with the tree of ``row``, itself excepted."""
        for each in self.sharing.tolist():
            if each != row and self.served(each)[row]:
                yield each

    def _find_served(self, row: int) -> Column:
        names = self._aggregates.of_row(row)
        column = self._aggregates.members(names).copy()
        for forest, below in self.forests:
            inside = below.members(names) & forest.there[: forest.size]
            column[forest.root[: forest.size][inside]] = True
        # All of a claim is in one partition.
        return column & (self._table.partition[: self.hosts.size] == self._table.partition[row])


def _below(forest: Forest) -> Providers:
    size = forest.size
    return Providers(forest.resources, forest.traits, lambda names: forest.aggregates.having_any(names, size), size)
