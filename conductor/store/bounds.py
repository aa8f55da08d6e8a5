# SPDX-License-Identifier: Apache-2.0
"""The bounds of the conductors' store, at which it accepts no new requests."""

from collections.abc import Mapping

from rpcapi.bounds import Bound, StoreBounds

# Options of group [conductor_store] by collection.
OPTIONS = {"records": "record_bytes", "queue": "queue_bytes", "deleted": "deleted_bytes"}


def record_bounds(bounds: Mapping[str, int]) -> StoreBounds:
    """Return the bounds of the store; ``bounds`` are in bytes, by collection."""
    return StoreBounds(
        "The conductors' store",
        {name: Bound(size, f"[conductor_store] {OPTIONS[name]}") for name, size in bounds.items()},
    )
