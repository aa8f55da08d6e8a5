# SPDX-License-Identifier: Apache-2.0
"""Waits until a process's replica has everything that the store acknowledged, to any process."""

from rpcapi import errors
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.protocols.log import LogStore

TIMEOUT = 2.0  # seconds


class Freshness:
    """Comparison of the replica's position with the store's."""

    def __init__(self, store: LogStore, replica: Replica) -> None:
        self._store = store
        self._replica = replica

    def require(self) -> int:
        """Return the replica's position with everything acknowledged before the call; raises NotReady."""
        _, position = self._store.begin_epoch_if_behind(0, 0)  # no store is behind these
        if not self._replica.reach(position, TIMEOUT):
            raise errors.NotReady(
                what="This process",
                why=f"its replica of the providers was behind the store for more than {TIMEOUT:g} s",
            )
        return position
