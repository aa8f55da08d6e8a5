# SPDX-License-Identifier: Apache-2.0
"""Stores of all partitions, loaded into one host table."""

import time
from collections.abc import Callable, Sequence

from oslo_log import log

from rpcapi import errors
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.partitions import OpenPartition, OpenPartitions
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.interface import Store

LOG = log.getLogger(__name__)

StoreOpener = Callable[[str], Store]  # opens the store of the named partition


class PartitionSet:
    """All partitions over one host table. ``close`` closes their stores."""

    def __init__(
        self,
        names: Sequence[str],
        served: Sequence[str],
        own: str,
        *,
        opener: StoreOpener,
        reads: Reads,
        on_loaded: Callable[[Replica], None] | None = None,
        for_api: bool = False,
    ) -> None:
        """Open the partitions ``names``.

        ``own`` is this worker's partition; the worker serves claims for ``served``. ``on_loaded`` is called after each
        load of a served partition. ``for_api``: see Replica.
        """
        self._stores: list[Store] = []
        self._for_api = for_api
        table = HostTable(names, reads)
        self.partitions = OpenPartitions(
            [self._open(opener, table, name, on_loaded if name in served else None) for name in names],
            own,
        )
        self.served_partitions = [self.partitions.find(name) for name in served]

    def load(self) -> None:
        """Load all partitions that are not loaded yet. Raises StoreUnavailable if none is available.

        Followers load unavailable partitions later.
        """
        last_error: errors.StoreUnavailable | None = None
        for partition in self.partitions:
            try:
                if not partition.replica.ready:
                    partition.replica.load()
            except errors.StoreUnavailable as error:
                partition.presence.record_failure()
                last_error = error
                if len(self.partitions) > 1:
                    LOG.warning("Partition %s is unavailable: %s", partition.name, error)
        if last_error is not None and not any(partition.replica.ready for partition in self.partitions):
            raise last_error

    def follow(self) -> None:
        for partition in self.partitions:
            partition.replica.start()

    def reload(self, timeout: float) -> bool:
        """Reload all available partitions, for example after new reads. Return False on timeout."""
        present = [partition.replica for partition in self.partitions if not partition.presence.away]
        deadline = time.monotonic() + timeout
        renewed = [partition.reload(max(0.0, deadline - time.monotonic())) for partition in present]
        return all(renewed)

    def describe(self) -> dict[str, object]:
        """Return a description per partition: log position, and hosts by state."""
        return {partition.name: _describe(partition) for partition in self.partitions}

    def stop(self) -> None:
        for partition in self.partitions:
            partition.replica.stop()

    def close(self) -> None:
        for partition in self.partitions:
            partition.replica.wait()
        for store in self._stores:
            store.close()

    def _open(
        self,
        opener: StoreOpener,
        table: HostTable,
        name: str,
        on_loaded: Callable[[Replica], None] | None,
    ) -> OpenPartition:
        # The follower needs its own store, because it blocks there until the next change.
        store, follower_store = opener(name), opener(name)
        self._stores += [store, follower_store]
        replica = Replica(follower_store, on_loaded or _ignore_load, table, for_api=self._for_api)
        return OpenPartition(store, replica)


def _describe(partition: OpenPartition) -> str:
    replica = partition.replica
    epoch, position = replica.log_position
    hosts = ", ".join(f"{state} {count}" for state, count in replica.host_counts._asdict().items())
    return f"epoch {epoch}, position {position}, store silent for {replica.last_contact_s:.1f} s; hosts: {hosts}"


def _ignore_load(replica: Replica) -> None:
    """Do nothing, as the default of ``on_loaded``."""
