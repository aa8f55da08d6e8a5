# SPDX-License-Identifier: Apache-2.0
"""Wait until a process's replica has all writes that the store acknowledged to any process."""

from rpcapi import errors
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.protocols.log import LogStore

TIMEOUT = 2.0  # seconds


class Freshness:
    """Comparison of the replica's position with the store's position."""

    def __init__(self, store: LogStore, replica: Replica) -> None:
        self._store = store
        self._replica = replica

    def require(self) -> int:
        """Wait for all writes acknowledged before the call; return a position that includes them. Raises NotReady."""
        # no store is behind (0, 0), so this only reads the position
        _, position = self._store.begin_epoch_if_behind(0, 0)
        if not self._replica.reach(position, TIMEOUT):
            raise errors.NotReady(
                what="This process",
                why=f"its replica of the providers was behind the store for more than {TIMEOUT:g} s",
            )
        return position
