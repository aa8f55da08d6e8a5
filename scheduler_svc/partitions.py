# SPDX-License-Identifier: Apache-2.0
"""The partitions that a worker decides over."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rpcapi import errors
from scheduler_svc.following.presence import Presence
from scheduler_svc.following.replica import Replica
from scheduler_svc.store.interface import Store


@dataclass(frozen=True, slots=True)
class Overview:
    """See rpcapi.objects.PartitionList; ``claims`` None: the store did not answer."""

    name: str
    epoch: int
    position: int
    hosts: int
    alive: int
    claims: Mapping[str, int] | None

    @property
    def available(self) -> bool:
        """Whether the store answered."""
        return self.claims is not None


@dataclass(frozen=True, slots=True)
class Partition:
    """One partition: its store for verbs, and the replica that follows it through a store of its own."""

    store: Store
    replica: Replica

    @property
    def name(self) -> str:
        """The partition's name."""
        return self.store.partition

    @property
    def presence(self) -> Presence:
        """Whether its store answers."""
        return self.replica.presence

    def look(self) -> Overview:
        """Return what the replica and the store tell now."""
        claims: Mapping[str, int] | None
        try:
            claims = self.store.counts()
        except errors.Unavailable:
            claims = None
        (epoch, position), census = self.replica.standing, self.replica.census
        return Overview(self.name, epoch, position, census.hosts, census.able, claims)


class Partitions:
    """All of them, in the order of the configuration; ``own`` names the one that this service belongs to."""

    def __init__(self, members: Sequence[Partition], own: str) -> None:
        self._members = {member.name: member for member in members}
        self.own = self._members[own]

    def __iter__(self) -> Iterator[Partition]:
        return iter(self._members.values())

    def __len__(self) -> int:
        return len(self._members)

    def find(self, name: str | None) -> Partition:
        """Return the partition of that name, or the own one for None; raises UnknownPartition."""
        if name is None:
            return self.own
        found = self._members.get(name)
        if found is None:
            raise errors.UnknownPartition(partition=name, known=", ".join(self._members))
        return found

    def of_host(self, name: str) -> list[Partition]:
        """Return the partitions in which a node, or a service host with nodes, of this name is known to be."""
        homes = set(self.own.replica.whole.homes(name))
        return [member for member in self if member.replica.number in homes]

    def find_decision(self, request_id: str) -> tuple[Partition, dict[str, Any]]:
        """Return the newest record of a decision, and where it is: a partition that refused has one too.

        Raises UnknownDecision, and StoreUnavailable where it may be in a partition that is away.
        """
        found, missing = [], []
        for each in self:
            try:
                found.append((each, each.store.find_decision(request_id)))
            except (errors.UnknownDecision, errors.StoreUnavailable) as error:
                missing.append(error)
        if not found:
            raise next((error for error in missing if isinstance(error, errors.StoreUnavailable)), missing[0])
        return max(found, key=lambda one: one[1].get("at_ms", 0))

    def likely(self, name: str) -> list[Partition]:
        """Return all partitions, first those in which a host of this name is known to be, then the own one."""
        first = [*self.of_host(name), self.own]
        return list({member.name: member for member in [*first, *self]}.values())
