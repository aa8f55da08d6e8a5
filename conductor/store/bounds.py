# SPDX-License-Identifier: Apache-2.0
"""Bounds of the conductors' store, above which it accepts no new requests."""

from collections.abc import Mapping

from rpcapi.bounds import Bound, StoreBounds

# {collection: option of group [conductor_store]}
OPTIONS = {"records": "record_bytes", "queue": "queue_bytes", "deleted": "deleted_bytes"}


def record_bounds(bounds: Mapping[str, int]) -> StoreBounds:
    return StoreBounds(
        "The conductors' store",
        {name: Bound(size, f"[conductor_store] {OPTIONS[name]}") for name, size in bounds.items()},
    )
