# SPDX-License-Identifier: Apache-2.0
"""Sizes of the conductors' store, and the bounds above which it accepts no new requests."""

from collections.abc import Mapping

from rpcapi.bounds import Bound, CollectionSize, StoreBounds

# {collection: option of group [conductor_store]}
OPTIONS = {"records": "record_bytes", "queue": "queue_bytes", "deleted": "deleted_bytes"}


def record_bounds(bounds: Mapping[str, int]) -> StoreBounds:
    return StoreBounds(
        "The conductors' store",
        {name: Bound(size, f"[conductor_store] {OPTIONS[name]}") for name, size in bounds.items()},
    )


def split_deleted(
    instances: CollectionSize, others: int, queue: CollectionSize, purge: CollectionSize
) -> dict[str, CollectionSize]:
    """Return the sizes by collection; deleted instances get a share of bytes by their number.

    ``others`` are the bytes of all other keys of the records.
    """
    deleted_bytes = instances.bytes * purge.entries // max(1, instances.entries)
    return {
        "records": CollectionSize(instances.entries - purge.entries, instances.bytes - deleted_bytes + others),
        "queue": queue,
        "deleted": CollectionSize(purge.entries, deleted_bytes + purge.bytes),
    }
