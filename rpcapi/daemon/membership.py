# SPDX-License-Identifier: Apache-2.0
"""Keeping services of this process in their service group, as long as it lives."""

import threading
from collections.abc import Sequence

from oslo_log import log

from rpcapi import errors
from rpcapi.daemon.coordination import Coordinator, Group

LOG = log.getLogger(__name__)


class Membership:
    """One thread for all services of the process, by the names under which the scheduler knows them.

    A coordination service that is away is no reason to serve nobody: it is tried again, and told once.
    """

    def __init__(self, group: Group, services: Sequence[str]) -> None:
        self._group = group
        self._seats = [Coordinator(group, name) for name in services]
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="service group", daemon=True)
        self._away = False

    def start(self) -> None:
        """Join, as soon as that is possible, and stay."""
        self._thread.start()

    def stop(self) -> None:
        """Leave: nothing new is to come here."""
        self._stopping.set()

    def wait(self) -> None:
        """Return when all have left, or cannot."""
        if self._thread.ident is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._keep()
            self._stopping.wait(self._group.interval)
        # Side by side: where the coordination service is away, each takes as long as it may.
        leaving = [threading.Thread(target=seat.close, name="leaving", daemon=True) for seat in self._seats]
        for each in leaving:
            each.start()
        for each in leaving:
            each.join()

    def _keep(self) -> None:
        try:
            for seat in self._seats:
                if self._stopping.is_set():
                    return
                seat.keep()
            if self._away:
                LOG.warning("The service group %s is there again", self._group.name)
            self._away = False
        except errors.Unavailable as error:
            (LOG.debug if self._away else LOG.warning)("%s; trying again", error)
            self._away = True
        except Exception:
            # The edge of a thread: were it to end, these services would be taken for dead for good.
            LOG.exception("Staying in the service group %s failed; trying again", self._group.name)
