# SPDX-License-Identifier: Apache-2.0
"""Calls to other services with timeout and request id; two exceptions cover all failures."""

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import oslo_messaging as messaging
from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt
from rpcapi import context, errors, tracing
from rpcapi.context import RequestContext

LOG = log.getLogger(__name__)
Reply = TypeVar("Reply")

# Timeout in seconds of calls while the agent stops.
DRAIN_TIMEOUT = 3.0


class CallUnanswered(Exception):
    """Raised when a call got no definite answer and must be repeated."""


class CallRejected(Exception):
    """Raised when the service rejected a call; a repeat helps only after something else has changed."""


class IdentityRefused(CallRejected):
    """Raised when another state folder owns the host's name: this agent must not act as that host."""


@dataclass(slots=True)
class _CallTimeout:
    timeout: float
    is_draining: bool = False
    is_over: bool = False


class ServiceCalls:
    """Sender of calls to other services, each at most once: users must repeat unanswered calls."""

    def __init__(self, timeout: float) -> None:
        self._timeout = _CallTimeout(timeout)
        self._host_uuid: str | None = None

    def of_host(self, host_uuid: str) -> "ServiceCalls":
        """Return a sender whose calls carry this host identity; the timeout stays shared."""
        calls = copy.copy(self)
        calls._host_uuid = host_uuid
        return calls

    def drain(self) -> None:
        """Shorten the timeout while the agent stops; after the first unanswered call, all calls fail at once."""
        self._timeout.is_draining = True
        self._timeout.timeout = min(self._timeout.timeout, DRAIN_TIMEOUT)

    def call(self, method: str, send: Callable[[RequestContext], Reply], attempts: Sequence[Attempt] = ()) -> Reply:
        """Return ``send(context)``; the context has the owner and request id of ``attempts``.

        Raises CallUnanswered, CallRejected or IdentityRefused, with method and cause.
        """
        if self._timeout.is_over:
            raise CallUnanswered(f"{method} is left to the next agent")
        ctxt = _context(attempts, deadline=time.time() + self._timeout.timeout, host_uuid=self._host_uuid)
        ctxt.update_store()
        try:
            with tracing.span(f"compute.{method}", ctxt.request_id):
                return send(ctxt)
        except (messaging.MessagingException, errors.Unavailable, errors.DeadlinePassed, OSError) as error:
            metrics.RETRIES.labels(method).inc()
            self._timeout.is_over = self._timeout.is_draining
            raise CallUnanswered(f"{method} got no answer: {str(error) or type(error).__name__}") from error
        except errors.GanttError as error:
            metrics.RETRIES.labels(method).inc()
            kind = IdentityRefused if isinstance(error, errors.HostIdentityConflict) else CallRejected
            raise kind(f"{method} was refused: {error.sentence}") from error


def _context(attempts: Sequence[Attempt], **values: Any) -> RequestContext:
    if not attempts:
        return context.new(**values)
    owner, request_id = attempts[0].owner, attempts[0].request_id or None
    return context.new(owner.get("project", ""), owner.get("user", ""), request_id=request_id, **values)
