# SPDX-License-Identifier: Apache-2.0
"""What a worker can tell of a partition."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from rpcapi import errors
from scheduler_svc.store.interface import Store
from scheduler_svc.table.table import HostTable


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


def look(store: Store, table: HostTable) -> Overview:
    """Return what the worker's ``table`` and its store tell now."""
    claims: Mapping[str, int] | None
    try:
        claims = store.counts()
    except errors.Unavailable:
        claims = None
    services = table.services
    able = int(np.count_nonzero(table.there & services.alive & services.enabled & services.opened))
    return Overview(store.partition, table.epoch, table.position, table.hosts, able, claims)
