# SPDX-License-Identifier: Apache-2.0
"""Members and metadata of aggregates."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.columns import Column, FloatColumn, Rows
from scheduler_svc.core.table.traits import TraitColumns

NAMESPACE = "aggregate"
READS: Reads = {NAMESPACE: frozenset({"hosts", "metadata"})}  # Fields for filters and weighers that use metadata.
ZONE = "availability_zone"  # metadata key of an availability zone
MAX_CACHED_ANSWERS = 1024  # size of the cache of get_or_compute

Document = Mapping[str, Any]
Metadata = Mapping[str, str]
T = TypeVar("T")


class AggregateColumns:
    """Aggregate documents by name (the first partition's metadata wins), and a membership bit per row and aggregate."""

    __slots__ = ("_answers", "_memberships", "_own", "bits", "documents")

    def __init__(self, size: int) -> None:
        self.documents: dict[str, dict[int, Document]] = {}
        self._memberships: dict[str, set[str]] = {}  # member name -> names of its aggregates
        # Provider -> partition -> aggregates that the provider's document names
        self._own: dict[str, dict[int, frozenset[str]]] = {}
        self.bits = TraitColumns(size)
        self._answers: dict[Hashable, Any] = {}

    def of(self, *names: str) -> set[str]:
        return set().union(*(self._memberships.get(name, ()) for name in names))

    def set_own(self, number: int, provider: str, aggregates: Iterable[str]) -> bool:
        """Set the aggregates that a provider's document names. Return whether they changed."""
        before, after = self._own.get(provider, {}).get(number, frozenset()), frozenset(aggregates)
        if after:
            self._own.setdefault(provider, {})[number] = after
        elif before:
            del self._own[provider][number]
            if not self._own[provider]:
                del self._own[provider]
        return before != after

    def own_of(self, provider: str) -> set[str]:
        return set().union(*self._own.get(provider, {}).values())

    def replace_own(self, number: int, source: "AggregateColumns") -> None:
        """Copy the aggregates that documents of partition ``number`` name from a table of that partition alone."""
        for provider in [provider for provider, parts in self._own.items() if number in parts]:
            self.set_own(number, provider, ())
        for provider in source._own:
            self.set_own(number, provider, source.own_of(provider))

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return ``compute()``, cached until documents of aggregates or providers, or members change.

        A column's ``key`` includes its size.
        """
        if key not in self._answers:
            if len(self._answers) >= MAX_CACHED_ANSWERS:
                self._answers.clear()
            self._answers[key] = compute()
        answer: T = self._answers[key]
        return answer

    def drop_answers(self) -> None:
        """Clear the cache of ``get_or_compute``, because something else that answers depend on has changed."""
        self._answers.clear()

    def put(self, number: int, name: str, document: Document | None) -> set[str]:
        """Set or remove (None) a partition's document of an aggregate. Return the affected members."""
        before = self._members(name)
        documents = self.documents.setdefault(name, {})
        if document is None:
            documents.pop(number, None)
        else:
            documents[number] = document
        if not documents:
            del self.documents[name]
        after = self._members(name)
        for member in after - before:
            self._memberships.setdefault(member, set()).add(name)
        for member in before - after:
            memberships = self._memberships[member]
            memberships.discard(name)
            if not memberships:
                del self._memberships[member]
        self._answers.clear()
        return before | after

    def replace(self, number: int, documents: Mapping[str, Document]) -> set[str]:
        """Replace all documents of partition ``number``. Return the affected members."""
        affected: set[str] = set()
        for name in [name for name, parts in self.documents.items() if number in parts and name not in documents]:
            affected |= self.put(number, name, None)
        for name, document in documents.items():
            affected |= self.put(number, name, document)
        return affected

    def set_row(self, row: int, names: Iterable[str]) -> None:
        self.bits.set_row(row, names)
        self._answers.clear()

    def grow(self, size: int) -> None:
        self.bits.grow(size)

    def clear(self, rows: Rows) -> None:
        self.bits.clear(rows)
        self._answers.clear()

    def _members(self, name: str) -> set[str]:
        return set().union(*(document.get("hosts", ()) for document in self.documents.get(name, {}).values()))


class AggregateView:
    """Aggregates as a view reads them. Columns have one element per row."""

    __slots__ = ("_columns", "_size")

    def __init__(self, every: AggregateColumns, size: int) -> None:
        self._columns = every
        self._size = size

    @property
    def names(self) -> list[str]:
        return list(self._columns.documents)

    def metadata(self, name: str) -> Metadata:
        documents = self._columns.documents[name]
        metadata: dict[str, str] = {}
        for number in sorted(documents, reverse=True):
            metadata |= documents[number].get("metadata", {})
        return metadata

    def metadata_values(self, key: str) -> dict[str, str]:
        """Return {aggregate: value} of the aggregates with metadata ``key``."""

        def compute() -> dict[str, str]:
            metadata_by_name = {name: self.metadata(name) for name in self.names}
            return {name: metadata[key] for name, metadata in metadata_by_name.items() if key in metadata}

        return self.get_or_compute(("having", key), compute)

    def members(self, names: Iterable[str]) -> Column:
        """Return a mask of the rows in any of these aggregates. Unknown aggregates have no members."""
        return self._columns.bits.has_any(names, self._size)

    def of_row(self, row: int) -> set[str]:
        return self._columns.bits.of(row)

    def of(self, *names: str) -> set[str]:
        """Return the aggregates that have any of these providers or service hosts as members."""
        return self._columns.of(*names)

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return ``compute()``, cached until documents, members or rows change, but not usage.

        ``key`` identifies the computation.
        """
        return self._columns.get_or_compute((self._size, key), compute)

    def smallest(self, key: str, parse: Callable[[str], float | None], default: float) -> FloatColumn | float:
        """Return the smallest number under metadata ``key`` among each row's aggregates, like Nova.

        Rows without a value, or with an invalid value (``parse`` returns None), get ``default``. If no aggregate has
        the key, the result is the scalar ``default``.
        """
        texts = self.metadata_values(key)
        if not texts:
            return default
        numbers = {name: parse(text) for name, text in texts.items()}
        column = np.full(self._size, float(default))
        # Assigned in descending order, so that the smallest number wins.
        for number in sorted({number for number in numbers.values() if number is not None}, reverse=True):
            column[self.members([name for name, other in numbers.items() if other == number])] = number
        column[self.members([name for name, other in numbers.items() if other is None])] = default
        column.setflags(write=False)
        return column

    def in_zone(self, zone: str, reported: Callable[[], Column]) -> Column:
        """Return a mask of the rows in a zone. Rows in no aggregate with a zone use ``reported()``."""
        zones = self.metadata_values(ZONE)
        if not zones:
            return reported()
        inside = self.members([name for name, zone_name in zones.items() if zone_name == zone])
        return inside | (reported() & ~self.get_or_compute("zoned", lambda: self.members(zones)))
