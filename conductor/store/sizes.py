# SPDX-License-Identifier: Apache-2.0
"""Sizes of the conductors' store."""

from rpcapi.bounds import CollectionSize


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
