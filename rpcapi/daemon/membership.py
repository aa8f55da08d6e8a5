# SPDX-License-Identifier: Apache-2.0
"""Maintains the group memberships of this process's services."""

import threading
from collections.abc import Sequence

from oslo_log import log

from rpcapi import errors
from rpcapi.background import BackgroundLoop
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator

LOG = log.getLogger(__name__)


class Membership(BackgroundLoop):
    """Renews the memberships in one thread; members are named as the scheduler knows the services.

    When the coordination service is unreachable, the process keeps serving: renewal is retried, and one warning logged.
    """

    def __init__(self, group: CoordinationGroup, services: Sequence[str]) -> None:
        super().__init__("service group")
        self._group = group
        self._coordinators = [Coordinator(group, name) for name in services]
        self._unavailable = False

    def run_once(self) -> float:
        """Renew all memberships, and join where necessary; return the interval of renewals."""
        self._renew_memberships()
        return self._group.interval

    def finish(self) -> None:
        """Let all members leave, in parallel: each may take its full time limit during an outage."""
        leaving = [
            threading.Thread(target=coordinator.close, name="leaving", daemon=True)
            for coordinator in self._coordinators
        ]
        for thread in leaving:
            thread.start()
        for thread in leaving:
            thread.join()

    def _renew_memberships(self) -> None:
        try:
            for coordinator in self._coordinators:
                if self.is_stopping:
                    return
                coordinator.renew_membership()
            if self._unavailable:
                LOG.warning("Service group %s is reachable again", self._group.name)
            self._unavailable = False
        except errors.Unavailable as error:
            (LOG.debug if self._unavailable else LOG.warning)("%s; retrying", error)
            self._unavailable = True
