# SPDX-License-Identifier: Apache-2.0
"""What a worker can tell of a partition."""

from collections.abc import Mapping
from dataclasses import dataclass

from rpcapi import errors
from scheduler_svc.replica import Replica
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


def look(store: Store, replica: Replica) -> Overview:
    """Return what the worker's ``replica`` of a partition and its store tell now."""
    claims: Mapping[str, int] | None
    try:
        claims = store.counts()
    except errors.Unavailable:
        claims = None
    (epoch, position), census = replica.standing, replica.census
    return Overview(store.partition, epoch, position, census.hosts, census.able, claims)
