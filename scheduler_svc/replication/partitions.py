# SPDX-License-Identifier: Apache-2.0
"""Partitions from which a worker selects hosts."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from oslo_log import log

from rpcapi import errors
from scheduler_svc.core.reads import Reads
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.presence import Presence
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.interface import Store

LOG = log.getLogger(__name__)

StoreOpener = Callable[[str], Store]  # opens the store of the named partition


@dataclass(frozen=True, slots=True)
class OpenPartition:
    """Partition with a store for verbs, and a replica that follows the log through its own store."""

    store: Store
    replica: Replica

    @property
    def name(self) -> str:
        return self.store.partition

    @property
    def presence(self) -> Presence:
        return self.replica.presence

    def claim_counts(self) -> Mapping[str, int] | None:
        try:
            return self.store.counts()
        except errors.Unavailable:
            return None

    def describe(self) -> str:
        replica = self.replica
        epoch, position = replica.log_position
        hosts = ", ".join(f"{state} {count}" for state, count in replica.host_counts._asdict().items())
        return f"epoch {epoch}, position {position}, store silent for {replica.last_contact_s:.1f} s; hosts: {hosts}"


class OpenPartitions:
    """All configured partitions, in order. ``own`` is this service's; it serves the claims of those in ``served``."""

    def __init__(self, members: Sequence[OpenPartition], own: str, served: Sequence[str] = ()) -> None:
        """Raises UnknownPartition if ``own`` or a name in ``served`` is not among ``members``."""
        self._members = {member.name: member for member in members}
        self.own = self.find(own)
        self.served = [self.find(name) for name in served]

    @classmethod
    def open(
        cls,
        names: Sequence[str],
        served: Sequence[str],
        own: str,
        *,
        opener: StoreOpener,
        reads: Reads,
        on_loaded: Callable[[Replica], None] | None = None,
        for_api: bool = False,
    ) -> Self:
        """Open the partitions ``names`` over one host table.

        ``on_loaded`` is called after each load of a served partition. ``for_api``: see Replica.
        """
        table = HostTable(names, reads)
        # A replica needs its own store, because it blocks there until the next change.
        members = [
            OpenPartition(
                opener(name), Replica(opener(name), on_loaded if name in served else None, table, for_api=for_api)
            )
            for name in names
        ]
        return cls(members, own, served)

    def __iter__(self) -> Iterator[OpenPartition]:
        return iter(self._members.values())

    def __len__(self) -> int:
        return len(self._members)

    def find(self, name: str | None) -> OpenPartition:
        """Return the named partition; the own partition for None. Raises UnknownPartition."""
        if name is None:
            return self.own
        partition = self._members.get(name)
        if partition is None:
            raise errors.UnknownPartition(partition=name, choices=", ".join(self._members))
        return partition

    def of_host(self, name: str) -> list[OpenPartition]:
        """Return the partitions with a node, or a service host with nodes, of this name."""
        numbers = set(self.own.replica.unchecked_table.find_partitions(name))
        return [member for member in self if member.replica.number in numbers]

    def find_decision(self, request_id: str, project: str | None = None) -> tuple[OpenPartition, dict[str, Any]]:
        """Return the newest record of a decision, and its partition. Records of ``project`` come first.

        A partition that refused the call has a record too. Raises UnknownDecision, or StoreUnavailable if an
        unavailable partition may have the record.
        """
        decisions, missing = [], []
        for partition in self:
            try:
                decisions.append((partition, partition.store.find_decision(request_id, project)))
            except (errors.UnknownDecision, errors.StoreUnavailable) as error:
                missing.append(error)
        if not decisions:
            raise next((error for error in missing if isinstance(error, errors.StoreUnavailable)), missing[0])
        return max(decisions, key=lambda pair: (project_of(pair[1]) == project, pair[1].get("at_ms", 0)))

    def search_order(self, name: str) -> list[OpenPartition]:
        """Return all partitions: those with a host of this name, the own partition, then all others."""
        preferred = [*self.of_host(name), self.own]
        return list({member.name: member for member in [*preferred, *self]}.values())

    def load(self) -> None:
        """Load all partitions; later calls load the missing ones. Raises StoreUnavailable if none is available."""
        last_error: errors.StoreUnavailable | None = None
        for partition in self:
            try:
                if not partition.replica.ready:
                    partition.replica.load()
            except errors.StoreUnavailable as error:
                partition.presence.record_failure()
                last_error = error
                if len(self) > 1:
                    LOG.warning("Partition %s is unavailable: %s", partition.name, error)
        if last_error is not None and not any(partition.replica.ready for partition in self):
            raise last_error

    def follow(self) -> None:
        for partition in self:
            partition.replica.start()

    def reload(self, timeout: float) -> bool:
        """Reload all available partitions, for example after new reads. Return False on timeout."""
        deadline = time.monotonic() + timeout
        present = [partition.replica for partition in self if not partition.presence.away]
        renewed = [replica.reload(max(0.0, deadline - time.monotonic())) for replica in present]
        return all(renewed)

    def describe(self) -> dict[str, object]:
        return {partition.name: partition.describe() for partition in self}

    def stop(self) -> None:
        for partition in self:
            partition.replica.stop()

    def close(self) -> None:
        """Wait until no replica follows its log, then close all stores."""
        for partition in self:
            partition.replica.close()
        for partition in self:
            partition.store.close()
