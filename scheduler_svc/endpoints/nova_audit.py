# SPDX-License-Identifier: Apache-2.0
"""RPC method that compares claims for Nova with the instances that gantt-nova-bridge reads."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.endpoint import expose
from scheduler_svc.endpoints.metered import SchedulerEndpoint
from scheduler_svc.nova.bridge import signals
from scheduler_svc.nova.bus.leaks import end_leak, find_leaks
from scheduler_svc.store.interface import Store

WAIT_SECONDS = 20.0  # longest wait for the bridge's answer
POLL_SECONDS = 0.1
# shown fields of a claim; created_ms is in the store's time
SHOWN = ("consumer", "host", "request_id", "created_ms", "allocations")
BRIDGE = "gantt-nova-bridge"
ASKED_MEANWHILE = "another request replaced this one; try again"


class NovaAuditEndpoint(SchedulerEndpoint):
    def __init__(self, store: Store, build_ms: int, pause: Callable[[float], None] = time.sleep) -> None:
        """``build_ms``: age from which a claim without an instance may be a leak."""
        self._store = store
        self._build_ms = build_ms
        self._pause = pause

    @expose
    def audit_nova(
        self, ctxt: RequestContext, *, fix: bool = False, marker: str | None = None, limit: int = 1000
    ) -> objects.NovaAudit:
        """Find the claims without an instance in one page; ``fix`` ends them."""
        leaks, next_marker = find_leaks(self._store, partial(self._ask_bridge, ctxt), self._build_ms, marker, limit)
        rows = [
            {name: getattr(leak, name) for name in SHOWN} | {"ended": fix and end_leak(self._store, leak)}
            for leak in leaks
        ]
        return objects.NovaAudit.of(leaks=rows, marker=next_marker)

    def _ask_bridge(self, ctxt: RequestContext, instances: Sequence[str]) -> frozenset[str]:
        try:
            number = signals.ask(self._store, instances)
        except errors.VersionConflict as error:
            raise errors.Unavailable(what=BRIDGE, why="it is busy with another request; try again") from error
        deadline = time.monotonic() + ctxt.remaining(WAIT_SECONDS)
        while time.monotonic() < deadline:
            answer = signals.answer(self._store)
            if answer is not None and answer.number >= number:
                return self._check(answer, number)
            self._pause(POLL_SECONDS)
        raise errors.Unavailable(what=BRIDGE, why="it has not answered; is it running?")

    @staticmethod
    def _check(answer: signals.BridgeReply, number: int) -> frozenset[str]:
        if answer.error is not None:
            raise errors.Unavailable(what="The audit of Nova's databases", why=answer.error)
        if answer.number > number:
            raise errors.Unavailable(what=BRIDGE, why=ASKED_MEANWHILE)
        return answer.on_hosts
