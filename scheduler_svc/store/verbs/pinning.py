# SPDX-License-Identifier: Apache-2.0
"""The pin verb: which partition serves a request, or a server group."""

from scheduler_svc.store.verbs.partition import PartitionState


def pin(partition: PartitionState, key: str, requested: str, instead_of: str | None, *, now: int, ttl_ms: int) -> str:
    """Return the partition that serves ``key``: the pinned one, unless it expired or is ``instead_of``."""
    pinned, until = partition.pins.get(key, (requested, 0))
    if until <= now or pinned == instead_of:
        pinned = requested
    partition.pins[key] = (pinned, now + ttl_ms)
    return pinned
