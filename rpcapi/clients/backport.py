# SPDX-License-Identifier: Apache-2.0
"""Backports from a conductor, limited so that senders of newer objects cannot occupy all threads of a server."""

import threading
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.context import RequestContext

SECONDS = 5.0  # limit of a backport: the conductor only converts the object
SHARE = 2  # one of so many threads of a server may wait for a backport
RETRY_S = 1


class ConductorBackport:
    """Requests older versions of too new objects; for GanttSerializer of a server with ``threads`` threads."""

    def __init__(self, conductor: ConductorAPI, threads: int) -> None:
        self._conductor = conductor
        self._limit = max(1, threads // SHARE)
        self._slots = threading.BoundedSemaphore(self._limit)

    def __call__(self, ctxt: RequestContext, primitive: dict[str, Any], versions: dict[str, str]) -> Any:
        """Return the object at the version in ``versions``.

        Raises IncompatibleObject when the conductor does not know the object's version either, Unavailable when it does
        not answer within SECONDS, and Overloaded, at once, when as many threads wait as may.
        """
        if not self._slots.acquire(blocking=False):
            raise errors.Overloaded(
                what="Backporting", waiting=self._limit, unit="objects", bound=self._limit, retry_s=RETRY_S
            )
        try:
            return self._conductor.object_backport_versions(ctxt.with_timeout(SECONDS), primitive, versions)
        except messaging.MessagingException as error:
            why = f"it must backport an object and did not answer within {SECONDS:.0f} s"
            raise errors.Unavailable(what="A conductor", why=why) from error
        finally:
            self._slots.release()
