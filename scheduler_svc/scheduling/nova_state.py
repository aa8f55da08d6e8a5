# SPDX-License-Identifier: Apache-2.0
"""How old the state of Nova's computes is, and the refusal of requests when it is too old."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from rpcapi import errors
from scheduler_svc import metrics
from scheduler_svc.core.namespaces import nova
from scheduler_svc.core.request import COMPUTE, SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.store.protocols.log import LogStore

CLOCK_SECONDS = 60.0  # after which the store's clock is read again


class NovaStateAge:
    """Judges by the store's clock, with which the bridge stamps each reading. Thread-safe."""

    def __init__(
        self, store: LogStore, *, noted_s: float, refused_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Above ``noted_s`` seconds answers say how old the state is, above ``refused_s`` requests are refused."""
        self._store = store
        self._noted_s, self._refused_s = noted_s, refused_s
        self._clock = clock
        self._lead_ms = 0.0  # of the store's clock
        self._read_at: float | None = None

    def now_ms(self) -> float:
        """Return the store's clock; raises StoreUnavailable. It is not to be called while a view is read."""
        now = self._clock()
        if self._read_at is None or now - self._read_at >= CLOCK_SECONDS:
            self._lead_ms = self._store.clock_ms() - 1000 * now
            self._read_at = now
        return 1000 * now + self._lead_ms

    def check(self, view: View, request: SchedulingRequest, now_ms: float) -> SchedulingRequest:
        """Return the request with what is too old in its decision context: the state, or that of some cells.

        Raises NoValidHost if the state is too old or was never read.
        """
        if request.service != COMPUTE:
            return request
        bridge = self._bridge_document(view)
        if bridge is None:
            raise errors.NoValidHost(
                reason="Nova's databases were never read: gantt-nova-bridge has not run", reasons={}
            )
        age_s = _age_s(now_ms, bridge["read_ms"])
        if age_s > self._refused_s:
            raise errors.NoValidHost(reason=age_text(age_s), reasons={})
        unread = tuple(
            uuid
            for uuid, cell in bridge["cells"].items()
            if "unread_since_ms" in cell and _age_s(now_ms, cell["unread_since_ms"]) > self._refused_s
        )
        noted_s = round(age_s, 1) if age_s > self._noted_s else 0.0
        if not unread and not noted_s:
            return request
        return request.with_decision(unread_cells=unread, nova_state_age_s=noted_s)

    def measure(self, view: View, now_ms: float) -> None:
        """Set the metric."""
        bridge = self._bridge_document(view)
        if bridge is not None:
            metrics.NOVA_STATE_AGE.set(_age_s(now_ms, bridge["read_ms"]))

    @staticmethod
    def _bridge_document(view: View) -> Mapping[str, Any] | None:
        return view.documents(nova.BRIDGE_NAMESPACE).get(nova.BRIDGE)


def age_text(age_s: float) -> str:
    """Return the part of a refusal that says how old the state is."""
    return f"Nova's databases were last read {age_s:.0f} s ago"


def with_age(error: errors.NoValidHost, request: SchedulingRequest) -> errors.NoValidHost:
    """Return a refusal that also says how old the state was, where it was too old to go without saying."""
    age_s = request.decision.nova_state_age_s
    if not age_s:
        return error
    return errors.NoValidHost(reason=f"{error.kwargs['reason']}; {age_text(age_s)}", reasons=error.kwargs["reasons"])


def _age_s(now_ms: float, then_ms: float) -> float:
    return max(0.0, (now_ms - then_ms) / 1000)
