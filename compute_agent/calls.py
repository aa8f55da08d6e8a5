# SPDX-License-Identifier: Apache-2.0
"""Asking the other services: with a timeout, under the request's id, and with one kind of failure."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import oslo_messaging as messaging
from oslo_log import log

from compute_agent import metrics
from compute_agent.attempt import Attempt
from rpcapi import context, errors
from rpcapi.context import RequestContext

LOG = log.getLogger(__name__)
Answer = TypeVar("Answer")

# Seconds that an answer is waited for while the agent stops.
DRAIN_TIMEOUT = 3.0


class Unanswered(Exception):
    """Raised when nobody gave a definite answer: the same is to be asked again."""


class Rejected(Exception):
    """Raised when the question itself was refused; asking again helps only once something else has changed."""


class Calls:
    """Makes calls of other services; delivery is at most once, so every caller of this asks again."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._draining = False
        self._in_vain = False

    def drain(self) -> None:
        """Ask on while the agent stops, but only until nobody answers: what is open then is the next agent's."""
        self._draining = True
        self._timeout = min(self._timeout, DRAIN_TIMEOUT)

    def ask(self, what: str, call: Callable[[RequestContext], Answer], about: Sequence[Attempt] = ()) -> Answer:
        """Return what ``call(context)`` returns; the context is that of the request which ``about`` serves.

        Raises Unanswered and Rejected, each saying what and why.
        """
        if self._in_vain:
            raise Unanswered(f"{what} is left to the next agent")
        ctxt = _context(about).within(self._timeout)
        ctxt.update_store()
        try:
            return call(ctxt)
        except (messaging.MessagingException, errors.Unavailable, errors.DeadlinePassed, OSError) as error:
            metrics.RETRIES.labels(what).inc()
            self._in_vain = self._draining
            raise Unanswered(f"{what} got no answer: {str(error) or type(error).__name__}") from error
        except errors.GanttError as error:
            metrics.RETRIES.labels(what).inc()
            raise Rejected(f"{what} was refused: {error}") from error


def _context(about: Sequence[Attempt]) -> RequestContext:
    if not about:
        return context.new()
    owner = about[0].owner
    known = {"request_id": about[0].request_id} if about[0].request_id else {}
    return context.new(owner.get("project", ""), owner.get("user", ""), **known)
