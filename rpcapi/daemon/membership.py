# SPDX-License-Identifier: Apache-2.0
"""Maintains the group memberships of this process's services."""

import threading
from collections.abc import Sequence

from oslo_log import log

from rpcapi import errors
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator

LOG = log.getLogger(__name__)


class Membership:
    """Renews the memberships in one thread; members are named as the scheduler knows the services.

    When the coordination service is unreachable, the process keeps serving: renewal is retried, and one warning logged.
    """

    def __init__(self, group: CoordinationGroup, services: Sequence[str]) -> None:
        self._group = group
        self._coordinators = [Coordinator(group, name) for name in services]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="service group", daemon=True)
        self._unavailable = False

    def start(self) -> None:
        """Start joining and renewing in the background."""
        self._thread.start()

    def stop(self) -> None:
        """Start leaving the group, so that no new work is sent here."""
        self._stopping.set()

    def wait(self) -> None:
        """Return when all members have left, or failed to."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._renew_memberships()
            self._stopping.wait(self._group.interval)
        # In parallel: each may take its full time limit while the coordination service is unreachable.
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
                if self._stopping.is_set():
                    return
                coordinator.renew_membership()
            if self._unavailable:
                LOG.warning("Service group %s is reachable again", self._group.name)
            self._unavailable = False
        except errors.Unavailable as error:
            (LOG.debug if self._unavailable else LOG.warning)("%s; retrying", error)
            self._unavailable = True
        except Exception:
            # Top level of the thread: if it ended, these services would count as dead for ever.
            LOG.exception("Renewing the membership in service group %s failed; retrying", self._group.name)
