# SPDX-License-Identifier: Apache-2.0
"""Group memberships of this process's services."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from rpcapi.background import Periodic
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator


class Membership(Periodic):
    """Thread that renews the memberships of ``services``; warns once while renewals fail."""

    def __init__(self, group: CoordinationGroup, services: Sequence[str]) -> None:
        self._coordinators = [Coordinator(group, name) for name in services]
        super().__init__(f"Renewal in service group {group.name}", self._renew, lambda: group.interval, self._leave)

    def _renew(self) -> None:
        for coordinator in self._coordinators:
            if not self.is_stopping:
                coordinator.renew_membership()

    def _leave(self) -> None:
        """Leave in parallel, because each member may take its full time limit during an outage."""
        with ThreadPoolExecutor(len(self._coordinators)) as pool:
            list(pool.map(Coordinator.close, self._coordinators))
