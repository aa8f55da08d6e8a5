# SPDX-License-Identifier: Apache-2.0
"""Partition of a private Redis for a measurement, and a replica that follows the partition."""

import contextlib
from collections.abc import Iterator
from typing import Any

from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.redis import RedisStore


@contextlib.contextmanager
def opened(url: str, partition: str, **options: Any) -> Iterator[RedisStore]:
    with contextlib.closing(RedisStore(url, partition, **options)) as store:
        store.check_identity()
        yield store


@contextlib.contextmanager
def following(url: str, partition: str, reads: Reads, **options: Any) -> Iterator[Replica]:
    """Yield a loaded replica that follows the log in a thread over its own connection."""
    with contextlib.closing(RedisStore(url, partition, **options)) as store:
        replica = Replica(store, table=HostTable([partition], reads))
        try:
            replica.load()
            replica.start()
            yield replica
        finally:
            replica.stop()
            replica.wait()
