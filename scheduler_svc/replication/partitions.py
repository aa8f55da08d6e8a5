# SPDX-License-Identifier: Apache-2.0
"""Partitions from which a worker selects hosts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rpcapi import errors
from scheduler_svc.replication.presence import Presence
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.decisions import project_of
from scheduler_svc.store.interface import Store


@dataclass(frozen=True, slots=True)
class OpenPartition:
    """Store for verbs, and the replica, which follows the log through a store of its own."""

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


class OpenPartitions:
    """All configured partitions, in order. ``own`` is this service's partition."""

    def __init__(self, members: Sequence[OpenPartition], own: str) -> None:
        self._members = {member.name: member for member in members}
        self.own = self._members[own]

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
