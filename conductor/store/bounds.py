# SPDX-License-Identifier: Apache-2.0
"""The bounds of the conductors' store, at which it accepts no new requests."""

from collections.abc import Mapping

from conductor.store.interface import ConductorStore
from rpcapi.bounds import Bound, CollectionSize, StoreBounds

# Options of group [conductor_store] by collection.
OPTIONS = {"records": "record_bytes", "queue": "queue_bytes", "deleted": "deleted_bytes"}


class RecordBounds:
    """Compares the sizes of the conductors' store, as they were measured last, with its bounds."""

    def __init__(self, store: ConductorStore, bounds: Mapping[str, int]) -> None:
        """``bounds`` are in bytes, by collection."""
        self._store = store
        self._bounds = StoreBounds(
            "The conductors' store",
            {name: Bound(size, f"[conductor_store] {OPTIONS[name]}") for name, size in bounds.items()},
        )

    def measure(self) -> Mapping[str, CollectionSize]:
        """Measure the store, and return its sizes with their bounds; raises StoreUnavailable."""
        return self._bounds.observe(self._store.sizes())

    def check(self) -> None:
        """Raise StoreFull where any collection was at its bound at the last measurement."""
        self._bounds.check(*OPTIONS)
