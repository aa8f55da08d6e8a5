# SPDX-License-Identifier: Apache-2.0
"""Sizes of a store's collections, and the bounds at which new work is refused."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from rpcapi import errors

SAMPLES = 100  # entries of a collection in memory that are measured


class CollectionSize(NamedTuple):
    """Size of a collection; ``bound`` in bytes, 0 where there is none.

    A collection that ``rotates`` loses its oldest entries at the bound; at that of any other one new work is refused.
    """

    entries: int
    bytes: int
    bound: int = 0
    rotates: bool = False

    @property
    def is_full(self) -> bool:
        """Whether new work is refused."""
        return 0 < self.bound <= self.bytes and not self.rotates


def estimate(*mappings: Mapping[Any, Any]) -> CollectionSize:
    """Return the number of entries of the first mapping, and about the length of all of them as text."""
    size = 0
    for mapping in mappings:
        sample = list(islice(mapping.items(), SAMPLES))
        size += len(repr(sample)) * len(mapping) // max(1, len(sample))
    return CollectionSize(len(mappings[0]), size)


class Bound(NamedTuple):
    """The bound of a collection, and the option that sets it."""

    bytes: int
    option: str
    rotates: bool = False


class StoreBounds:
    """Compares the last measured sizes of a store's collections with their bounds; safe to share by threads.

    What arrives between two measurements may exceed a bound by as much.
    """

    def __init__(self, store: str, bounds: Mapping[str, Bound]) -> None:
        """``store`` begins the error's message; ``bounds`` are by collection."""
        self._store = store
        self._bounds = bounds
        self._sizes: Mapping[str, CollectionSize] = {}

    def observe(self, sizes: Mapping[str, CollectionSize]) -> Mapping[str, CollectionSize]:
        """Record measured sizes, and return them with their bounds."""
        self._sizes = {name: self._bounded(name, size) for name, size in sizes.items()}
        return self._sizes

    def is_full(self, collection: str) -> bool:
        """Return whether a collection was at its bound when it was measured last; False before."""
        size = self._sizes.get(collection)
        return size is not None and size.is_full

    def check(self, *collections: str) -> None:
        """Raise StoreFull where one of ``collections`` is at its bound."""
        for name in collections:
            if self.is_full(name):
                size = self._sizes[name]
                raise errors.StoreFull(
                    store=self._store,
                    collection=name,
                    bytes=size.bytes,
                    bound=size.bound,
                    option=self._bounds[name].option,
                )

    def _bounded(self, name: str, size: CollectionSize) -> CollectionSize:
        bound = self._bounds.get(name)
        return size if bound is None else size._replace(bound=bound.bytes, rotates=bound.rotates)
