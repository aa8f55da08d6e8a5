# SPDX-License-Identifier: Apache-2.0
"""Size limits of a store's collections."""

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

from rpcapi import errors

SAMPLES = 100  # measured entries of an in-memory collection


class CollectionSize(NamedTuple):
    """Size and limit of a collection, which at its limit ``rotates`` (drops old entries) or refuses work."""

    entries: int
    bytes: int
    bound: int = 0  # Bytes; 0 means no bound.
    rotates: bool = False

    @property
    def is_full(self) -> bool:
        return 0 < self.bound <= self.bytes and not self.rotates


def estimate(*mappings: Mapping[Any, Any]) -> CollectionSize:
    """Return the entries of the first mapping, and the approximate text length of all."""
    size = 0
    for mapping in mappings:
        sample = list(islice(mapping.items(), SAMPLES))
        size += len(repr(sample)) * len(mapping) // max(1, len(sample))
    return CollectionSize(len(mappings[0]), size)


class Bound(NamedTuple):
    bytes: int
    option: str
    rotates: bool = False


class StoreBounds:
    """Last measured sizes of a store's collections; writes between measurements may exceed limits."""

    def __init__(self, store: str, bounds: Mapping[str, Bound]) -> None:
        self._store = store
        self._bounds = bounds
        self._sizes: Mapping[str, CollectionSize] = {}

    def observe(self, sizes: Mapping[str, CollectionSize]) -> Mapping[str, CollectionSize]:
        self._sizes = {name: self._bounded(name, size) for name, size in sizes.items()}
        return self._sizes

    def is_full(self, collection: str) -> bool:
        size = self._sizes.get(collection)
        return size is not None and size.is_full

    def check(self, *collections: str) -> None:
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
