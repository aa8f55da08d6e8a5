# SPDX-License-Identifier: Apache-2.0
"""The pin verb: which partition serves a request, or a server group."""

from scheduler_svc.store.verbs.partition import Partition


def pin(partition: Partition, key: str, wanted: str, instead_of: str | None, *, now: int, ttl_ms: int) -> str:
    """Return who serves ``key``: who is recorded, unless that one may be replaced or is no longer; else ``wanted``."""
    served, until = partition.pins.get(key, (wanted, 0))
    if until <= now or served == instead_of:
        served = wanted
    partition.pins[key] = (served, now + ttl_ms)
    return served
