# SPDX-License-Identifier: Apache-2.0
"""Backports of objects by the conductor, with a limit on the server threads that wait for them."""

import threading
from typing import Any

import oslo_messaging as messaging

from rpcapi import errors
from rpcapi.clients.conductor import ConductorAPI
from rpcapi.context import RequestContext

SECONDS = 5.0  # Time-out of a backport, which needs no I/O.
SHARE = 2  # at most 1/SHARE of a server's threads may wait for backports
RETRY_S = 1


class ConductorBackport:
    """Backport callable of a GanttSerializer, for a server with ``threads`` threads."""

    def __init__(self, conductor: ConductorAPI, threads: int) -> None:
        self._conductor = conductor
        self._limit = max(1, threads // SHARE)
        self._slots = threading.BoundedSemaphore(self._limit)

    def __call__(self, ctxt: RequestContext, primitive: dict[str, Any], versions: dict[str, str]) -> Any:
        """Convert an object to ``versions``; raises IncompatibleObject, Unavailable, or Overloaded without waiting."""
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
