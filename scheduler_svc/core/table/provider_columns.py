# SPDX-License-Identifier: Apache-2.0
"""Resources, traits and aggregates of single providers, as columns."""

from collections.abc import Callable, Collection, Iterable, Mapping

import numpy as np

from scheduler_svc.core.table.columns import Column, FloatColumn, IntColumn, read_only
from scheduler_svc.core.table.resources import ResourceColumns
from scheduler_svc.core.table.traits import TraitColumns


class ProviderColumns:
    """Columns with one element per provider: all hosts, or all child providers of a partition."""

    __slots__ = ("_aggregates", "resources", "size", "traits")

    def __init__(
        self,
        resources: Mapping[str, ResourceColumns],
        traits: TraitColumns,
        aggregates: Callable[[Iterable[str]], Column],
        size: int,
    ) -> None:
        self.resources = resources
        self.traits = traits
        self._aggregates = aggregates
        self.size = size

    def free(self, resource_class: str) -> FloatColumn:
        """Return capacity minus usage. Providers without the class have 0."""
        columns = self.resources.get(resource_class)
        return np.zeros(self.size, np.float64) if columns is None else read_only(columns.free, self.size)

    def unit_share(self, resource_class: str) -> FloatColumn:
        """Return one unit's share of the capacity. Providers without the class have 0."""
        columns = self.resources.get(resource_class)
        return np.zeros(self.size, np.float64) if columns is None else read_only(columns.unit_share, self.size)

    def available(self, resource_class: str) -> FloatColumn:
        """Return the free capacity, at least 0. An overcommitted provider must not reduce the sum over its tree."""
        return np.maximum(self.free(resource_class), 0.0)

    def capacity(self, resource_class: str) -> IntColumn:
        """Return the whole capacity, free or used. Providers without the class have 0."""
        columns = self.resources.get(resource_class)
        return np.zeros(self.size, np.int64) if columns is None else read_only(columns.capacity, self.size)

    def reserved(self, resource_class: str) -> IntColumn:
        """Return the reserved amount, which the capacity excludes. Providers without the class have 0."""
        columns = self.resources.get(resource_class)
        return np.zeros(self.size, np.int64) if columns is None else read_only(columns.reserved, self.size)

    def has_capacity(self, resource_class: str, amount: int) -> Column:
        return self.free(resource_class) >= amount

    def can_allocate(self, resource_class: str, amount: int) -> Column:
        """Return a mask of the providers with ``amount`` free and unit rules that allow ``amount``."""
        columns = self.resources.get(resource_class)
        if columns is None:
            return np.zeros(self.size, np.bool_)
        fits = columns.free[: self.size] >= amount
        return fits & columns.allows_amount(amount)[: self.size] if columns.rules else fits

    def can_hold(self, resource_class: str, amount: int) -> Column:
        """Return a mask of the providers with ``amount`` for one consumer, as the sum of several request groups."""
        columns = self.resources.get(resource_class)
        if columns is None:
            return np.zeros(self.size, np.bool_)
        fits: Column = (columns.free[: self.size] >= amount) & (columns.max_unit[: self.size] >= amount)
        return fits

    def units(self, resource_class: str, amount: int) -> IntColumn:
        """Return how often each provider can allocate ``amount`` to one consumer."""
        columns = self.resources.get(resource_class)
        if columns is None:
            return np.zeros(self.size, np.int64)
        fits = np.minimum(columns.free, columns.max_unit)[: self.size]
        return np.where(self.can_allocate(resource_class, amount), fits // amount, 0).astype(np.int64)

    def has_all(self, traits: Iterable[str]) -> Column:
        return self.traits.has_all(traits, self.size)

    def has_any(self, traits: Iterable[str]) -> Column:
        return self.traits.has_any(traits, self.size)

    def has_none(self, traits: Iterable[str]) -> Column:
        return ~self.has_any(traits)

    def traits_of(self, row: int, among: Collection[str] | None = None) -> set[str]:
        """Return the traits of one provider, limited to ``among`` if given."""
        return self.traits.of(row, among)

    def members(self, aggregates: Iterable[str]) -> Column:
        return self._aggregates(aggregates)
