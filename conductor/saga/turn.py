# SPDX-License-Identifier: Apache-2.0
"""One turn at a request: what a step is given to work with."""

import functools
import random
from dataclasses import dataclass, field, replace

from oslo_log import log

from conductor import metrics
from conductor.peers import Peers, sentence
from conductor.store.records import Instance, Request
from rpcapi import context, objects
from rpcapi.context import RequestContext
from rpcapi.objects.base import GanttObject

LOG = log.getLogger(__name__)

RETRY_FIRST_MS = 500
RETRY_MOST_MS = 30_000


@dataclass(frozen=True)
class Limits:
    """How often and how long things are tried; times in milliseconds, ``call_s`` in seconds.

    ``call_s`` bounds each call of a peer and must be well below the lease.
    """

    max_attempts: int = 3
    build_timeout_ms: int = 300_000
    recast_ms: int = 20_000
    select_timeout_ms: int = 180_000
    call_s: float = 20.0


@dataclass(frozen=True)
class Turn:
    """Peers, limits and the request; ``now_ms`` is the store's time at the turn's beginning.

    ``jitter`` keeps requests from coming back in step. It is one for all instances of a turn: they stay together, and
    so in one call.
    """

    peers: Peers
    limits: Limits
    request: Request
    now_ms: int
    jitter: float = field(default_factory=lambda: random.uniform(0.8, 1.2))

    @functools.cached_property
    def spec(self) -> objects.RequestSpec:
        """What was asked for."""
        return GanttObject.obj_from_primitive(dict(self.request.spec)).complete()

    def context(self) -> RequestContext:
        """Return a context of this request whose answer is of use for one call's time."""
        own = context.new(self.request.project, self.request.user, request_id=self.request.request_id)
        return own.within(self.limits.call_s)

    def recast_pause(self, waited_ms: int) -> int:
        """Return the milliseconds until a host that kept silent for ``waited_ms`` is told again: ever longer."""
        return int(max(self.limits.recast_ms, waited_ms) * self.jitter)

    def later(self, instance: Instance, why: Exception | str, *, slower: int = 1) -> Instance:
        """Return ``instance`` with the same step to be taken again, after a pause that doubles each time.

        Tries are counted in the record, not in a loop: they go on where a conductor died, and hold no thread.
        """
        metrics.RETRIES.labels(instance.step.value).inc()
        LOG.debug(
            "Instance %s: step %s again later: %s",
            instance.uuid,
            instance.step,
            sentence(why) if isinstance(why, Exception) else why,
        )
        pause = min(RETRY_MOST_MS, RETRY_FIRST_MS * 2 ** min(instance.tries, 10)) * slower
        wake_ms = self.now_ms + int(pause * self.jitter)
        return replace(instance, tries=instance.tries + 1, wake_ms=wake_ms)
