# SPDX-License-Identifier: Apache-2.0
"""Aggregates: which host belongs to which, and what is said of all of an aggregate's hosts."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, TypeVar

from scheduler_svc.table.columns import Column, Rows
from scheduler_svc.table.traits import TraitColumns

NAMESPACE = "aggregate"
ZONE = "availability_zone"  # the metadata that makes an aggregate a zone
MOST_FOUND = 1024  # things found out that are kept

Document = Mapping[str, Any]
Metadata = Mapping[str, str]
T = TypeVar("T")


class Aggregates:
    """Documents of the aggregates by name, and a bit a row and aggregate.

    An aggregate may be told of by several partitions: then its members are those of all, and of its metadata what the
    first of them says.
    """

    __slots__ = ("_bits", "_found", "_homes", "_told")

    def __init__(self, size: int) -> None:
        self._told: dict[str, dict[int, Document]] = {}
        self._homes: dict[str, set[str]] = {}  # member -> aggregates
        self._bits = TraitColumns(size)
        self._found: dict[Hashable, Any] = {}

    @property
    def names(self) -> list[str]:
        """The names of all."""
        return list(self._told)

    def metadata(self, name: str) -> Metadata:
        """Return what is said of an aggregate's hosts; raises KeyError where there is no such aggregate."""
        told = self._told[name]
        found: dict[str, str] = {}
        for number in sorted(told, reverse=True):
            found |= told[number].get("metadata", {})
        return found

    def having(self, key: str) -> dict[str, str]:
        """Return of each aggregate whose metadata has ``key`` what it says, by the aggregate's name."""
        every = {name: self.metadata(name) for name in self._told}
        return {name: metadata[key] for name, metadata in every.items() if key in metadata}

    def of(self, *names: str) -> set[str]:
        """Return the aggregates that any of ``names`` belongs to: a provider's, or its service host's."""
        return set().union(*(self._homes.get(name, ()) for name in names))

    def of_row(self, row: int) -> set[str]:
        """Return the aggregates of a row."""
        return self._bits.of(row)

    def members(self, names: Iterable[str], size: int) -> Column:
        """Return which of the first ``size`` rows are in any of these aggregates; an unknown one has none."""
        return self._bits.having_any(names, size)

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what ``find`` returns; it is asked once until documents or members change.

        ``key`` must tell it from all others, the number of rows looked at included where columns are found.
        """
        if key not in self._found:
            if len(self._found) >= MOST_FOUND:
                self._found.clear()
            self._found[key] = find()
        return self._found[key]

    def put(self, number: int, name: str, document: Document | None) -> set[str]:
        """Take over what partition ``number`` tells of an aggregate, None: it is gone; return whom it concerns."""
        before = self._members(name)
        told = self._told.setdefault(name, {})
        if document is None:
            told.pop(number, None)
        else:
            told[number] = document
        if not told:
            del self._told[name]
        after = self._members(name)
        for member in after - before:
            self._homes.setdefault(member, set()).add(name)
        for member in before - after:
            homes = self._homes[member]
            homes.discard(name)
            if not homes:
                del self._homes[member]
        self._found.clear()
        return before | after

    def replace(self, number: int, documents: Mapping[str, Document]) -> set[str]:
        """Take over all that partition ``number`` tells; return whom it concerns."""
        concerned: set[str] = set()
        for name in [name for name, told in self._told.items() if number in told and name not in documents]:
            concerned |= self.put(number, name, None)
        for name, document in documents.items():
            concerned |= self.put(number, name, document)
        return concerned

    def give(self, row: int, names: Iterable[str]) -> None:
        """Let ``row`` belong to exactly these aggregates."""
        self._bits.give(row, names)
        self._found.clear()

    def grow(self, size: int) -> None:
        """Make room for ``size`` rows."""
        self._bits.grow(size)

    def clear(self, rows: Rows) -> None:
        """Let ``rows`` belong to none."""
        self._bits.clear(rows)
        self._found.clear()

    def _members(self, name: str) -> set[str]:
        return set().union(*(told.get("hosts", ()) for told in self._told.get(name, {}).values()))


class AggregatesSeen:
    """The aggregates as a decision sees them: columns have an element a row of its view."""

    __slots__ = ("_every", "_size")

    def __init__(self, every: Aggregates, size: int) -> None:
        self._every = every
        self._size = size

    @property
    def names(self) -> list[str]:
        """The names of all."""
        return self._every.names

    def metadata(self, name: str) -> Metadata:
        """Return what is said of an aggregate's hosts; raises KeyError where there is no such aggregate."""
        return self._every.metadata(name)

    def having(self, key: str) -> dict[str, str]:
        """Return of each aggregate whose metadata has ``key`` what it says, by the aggregate's name."""
        return self.once(("having", key), lambda: self._every.having(key))

    def members(self, names: Iterable[str]) -> Column:
        """Return which rows are in any of these aggregates; an unknown one has none."""
        return self._every.members(names, self._size)

    def of_row(self, row: int) -> set[str]:
        """Return the aggregates of a row."""
        return self._every.of_row(row)

    def of(self, *names: str) -> set[str]:
        """Return the aggregates that any of these names belongs to: a provider's, or its service host's."""
        return self._every.of(*names)

    def once(self, key: Hashable, find: Callable[[], T]) -> T:
        """Return what ``find`` returns; it is asked once until documents, members or the rows change.

        ``key`` must tell it from all others.
        """
        return self._every.once((self._size, key), find)

    def in_zone(self, zone: str, reported: Callable[[], Column]) -> Column:
        """Return which rows are in a zone: their aggregates say so, or where none makes a zone they ``reported`` it."""
        zones = self.having(ZONE)
        if not zones:
            return reported()
        inside = self.members([name for name, its in zones.items() if its == zone])
        return inside | (reported() & ~self.once("zoned", lambda: self.members(zones)))
