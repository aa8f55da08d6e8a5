# SPDX-License-Identifier: Apache-2.0
"""Aggregates: their members and metadata."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.columns import Column, FloatColumn, Rows
from scheduler_svc.core.table.traits import TraitColumns

NAMESPACE = "aggregate"
READS: Reads = {NAMESPACE: frozenset({"hosts", "metadata"})}  # of filters and weighers by metadata
ZONE = "availability_zone"  # the metadata key that makes an aggregate an availability zone
MAX_CACHED_ANSWERS = 1024  # entries in the cache of get_or_compute

Document = Mapping[str, Any]
Metadata = Mapping[str, str]
T = TypeVar("T")


class AggregateColumns:
    """The documents of the aggregates by name, and one membership bit per row and aggregate.

    Several partitions may have a document of the same aggregate: its members are those of all of them; where metadata
    differ, the first partition's value is used.
    """

    __slots__ = ("_answers", "_bits", "_documents", "_memberships", "_own")

    def __init__(self, size: int) -> None:
        self._documents: dict[str, dict[int, Document]] = {}
        self._memberships: dict[str, set[str]] = {}  # member name -> names of its aggregates
        self._own: dict[str, dict[int, frozenset[str]]] = {}  # provider -> partition -> those in its own document
        self._bits = TraitColumns(size)
        self._answers: dict[Hashable, Any] = {}

    @property
    def names(self) -> list[str]:
        """The names of all aggregates."""
        return list(self._documents)

    def metadata(self, name: str) -> Metadata:
        """Return an aggregate's metadata; raises KeyError if there is no such aggregate."""
        documents = self._documents[name]
        metadata: dict[str, str] = {}
        for number in sorted(documents, reverse=True):
            metadata |= documents[number].get("metadata", {})
        return metadata

    def metadata_values(self, key: str) -> dict[str, str]:
        """Return the metadata value of ``key`` by aggregate name, for the aggregates that have the key."""
        metadata_by_name = {name: self.metadata(name) for name in self._documents}
        return {name: metadata[key] for name, metadata in metadata_by_name.items() if key in metadata}

    def of(self, *names: str) -> set[str]:
        """Return the aggregates that any of ``names`` (of providers or service hosts) belongs to."""
        return set().union(*(self._memberships.get(name, ()) for name in names))

    def set_own(self, number: int, provider: str, aggregates: Iterable[str]) -> bool:
        """Set the aggregates that a provider's own document names; return whether that changed them."""
        before, after = self._own.get(provider, {}).get(number, frozenset()), frozenset(aggregates)
        if after:
            self._own.setdefault(provider, {})[number] = after
        elif before:
            del self._own[provider][number]
            if not self._own[provider]:
                del self._own[provider]
        return before != after

    def own_of(self, provider: str) -> set[str]:
        """Return the aggregates that a provider's own document names, in any partition."""
        return set().union(*self._own.get(provider, {}).values())

    def replace_own(self, number: int, source: "AggregateColumns") -> None:
        """Replace the aggregates that the documents of partition ``number`` name by those of a table of it alone."""
        for provider in [provider for provider, parts in self._own.items() if number in parts]:
            self.set_own(number, provider, ())
        for provider in source._own:
            self.set_own(number, provider, source.own_of(provider))

    def of_row(self, row: int) -> set[str]:
        """Return the aggregates of a row."""
        return self._bits.of(row)

    def members(self, names: Iterable[str], size: int) -> Column:
        """Return a mask of the first ``size`` rows: True for members of any of these aggregates."""
        return self._bits.has_any(names, size)

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of ``compute``, cached until documents or members change.

        ``key`` must be unique to the computation, and contain the number of rows if the result is a column.
        """
        if key not in self._answers:
            if len(self._answers) >= MAX_CACHED_ANSWERS:
                self._answers.clear()
            self._answers[key] = compute()
        answer: T = self._answers[key]
        return answer

    def put(self, number: int, name: str, document: Document | None) -> set[str]:
        """Set a partition's document of an aggregate, None to remove it; return the affected member names."""
        before = self._members(name)
        documents = self._documents.setdefault(name, {})
        if document is None:
            documents.pop(number, None)
        else:
            documents[number] = document
        if not documents:
            del self._documents[name]
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
        """Replace all documents of partition ``number``; return the affected member names."""
        affected: set[str] = set()
        for name in [name for name, parts in self._documents.items() if number in parts and name not in documents]:
            affected |= self.put(number, name, None)
        for name, document in documents.items():
            affected |= self.put(number, name, document)
        return affected

    def set_row(self, row: int, names: Iterable[str]) -> None:
        """Replace the aggregates of ``row``."""
        self._bits.set_row(row, names)
        self._answers.clear()

    def grow(self, size: int) -> None:
        """Extend the columns to ``size`` rows."""
        self._bits.grow(size)

    def clear(self, rows: Rows) -> None:
        """Remove ``rows`` from all aggregates."""
        self._bits.clear(rows)
        self._answers.clear()

    def _members(self, name: str) -> set[str]:
        return set().union(*(document.get("hosts", ()) for document in self._documents.get(name, {}).values()))


class AggregateView:
    """The aggregates within a view: columns have one element per row of the view."""

    __slots__ = ("_columns", "_size")

    def __init__(self, every: AggregateColumns, size: int) -> None:
        self._columns = every
        self._size = size

    @property
    def names(self) -> list[str]:
        """The names of all aggregates."""
        return self._columns.names

    def metadata(self, name: str) -> Metadata:
        """Return an aggregate's metadata; raises KeyError if there is no such aggregate."""
        return self._columns.metadata(name)

    def metadata_values(self, key: str) -> dict[str, str]:
        """Return the metadata value of ``key`` by aggregate name, for the aggregates that have the key."""
        return self.get_or_compute(("having", key), lambda: self._columns.metadata_values(key))

    def members(self, names: Iterable[str]) -> Column:
        """Return a mask of the rows in any of these aggregates; unknown ones have no members."""
        return self._columns.members(names, self._size)

    def of_row(self, row: int) -> set[str]:
        """Return the aggregates of a row."""
        return self._columns.of_row(row)

    def of(self, *names: str) -> set[str]:
        """Return the aggregates that any of these names (of providers or service hosts) belongs to."""
        return self._columns.of(*names)

    def get_or_compute(self, key: Hashable, compute: Callable[[], T]) -> T:
        """Return the result of ``compute``, cached until documents, members or the rows change.

        ``key`` must be unique to the computation.
        """
        return self._columns.get_or_compute((self._size, key), compute)

    def smallest(self, key: str, parse: Callable[[str], float | None], default: float) -> FloatColumn | float:
        """Return for each row the smallest number that its aggregates' metadata have under ``key``, as Nova does.

        ``default`` applies to rows without one, and to those with a text that ``parse`` returns None for. It is
        returned alone if no aggregate has the key.
        """
        texts = self.metadata_values(key)
        if not texts:
            return default
        numbers = {name: parse(text) for name, text in texts.items()}
        column = np.full(self._size, float(default))
        # In descending order, so that the smallest number is assigned last.
        for number in sorted({number for number in numbers.values() if number is not None}, reverse=True):
            column[self.members([name for name, other in numbers.items() if other == number])] = number
        column[self.members([name for name, other in numbers.items() if other is None])] = default
        column.setflags(write=False)
        return column

    def in_zone(self, zone: str, reported: Callable[[], Column]) -> Column:
        """Return a mask of the rows in a zone: by aggregate metadata, or by ``reported()`` for rows without it."""
        zones = self.metadata_values(ZONE)
        if not zones:
            return reported()
        inside = self.members([name for name, zone_name in zones.items() if zone_name == zone])
        return inside | (reported() & ~self.get_or_compute("zoned", lambda: self.members(zones)))
