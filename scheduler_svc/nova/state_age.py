# SPDX-License-Identifier: Apache-2.0
"""Age of the state of Nova's compute nodes; requests are refused if it is too old."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rpcapi import errors
from rpcapi.resources import transient
from scheduler_svc import metrics
from scheduler_svc.core.request import COMPUTE, SchedulingRequest
from scheduler_svc.core.table.view import View
from scheduler_svc.nova import namespaces
from scheduler_svc.store.protocols.log import LogStore

CLOCK_SECONDS = 60.0  # interval of reading the store's clock


class NovaStateAge:
    """Age in the store's time, with which the bridge stamps each read. Thread-safe."""

    def __init__(
        self, store: LogStore, *, noted_s: float, refused_s: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._noted_s, self._refused_s = noted_s, refused_s
        self._clock = clock
        self._lead_ms = 0.0  # store's time minus monotonic time
        self._read_at: float | None = None

    def now_ms(self) -> float:
        """Return the store's time, perhaps read from it: not inside a view's block. Raises StoreUnavailable."""
        now = self._clock()
        if self._read_at is None or now - self._read_at >= CLOCK_SECONDS:
            self._lead_ms = self._store.clock_ms() - 1000 * now
            self._read_at = now
        return 1000 * now + self._lead_ms

    def check(self, view: View, request: SchedulingRequest, now_ms: float) -> SchedulingRequest:
        """Note the age of an old state of Nova in the request, and cells unread for too long.

        Raises NoValidHost if the state is older than ``refused_s``, for the first minute with a transient reason.
        """
        if request.service != COMPUTE:
            return request
        bridge = self._bridge_document(view)
        if bridge is None:
            raise errors.NoValidHost(reason="Nova's databases were never read: start gantt-nova-bridge", reasons={})
        age_s = _age_s(now_ms, bridge["read_ms"])
        if age_s > self._refused_s:
            reasons = (
                {transient.NOVA_JUST_OLD: int(np.count_nonzero(view.present))} if self._just_refused(age_s) else {}
            )
            raise errors.NoValidHost(reason=f"Nova's databases were last read {age_s:.0f} s ago", reasons=reasons)
        unread_s = {
            uuid: _age_s(now_ms, cell["unread_since_ms"])
            for uuid, cell in bridge["cells"].items()
            if "unread_since_ms" in cell
        }
        unread = tuple(uuid for uuid, seconds in unread_s.items() if seconds > self._refused_s)
        just_unread = tuple(uuid for uuid in unread if self._just_refused(unread_s[uuid]))
        noted_s = round(age_s, 1) if age_s > self._noted_s else 0.0
        if not unread and not noted_s:
            return request
        return request.with_decision(unread_cells=unread, just_unread_cells=just_unread, host_state_age_s=noted_s)

    def _just_refused(self, age_s: float) -> bool:
        return age_s <= self._refused_s + transient.SECONDS

    def measure(self, view: View, now_ms: float) -> None:
        bridge = self._bridge_document(view)
        if bridge is not None:
            metrics.NOVA_STATE_AGE.set(_age_s(now_ms, bridge["read_ms"]))

    @staticmethod
    def _bridge_document(view: View) -> Mapping[str, Any] | None:
        return view.documents(namespaces.BRIDGE_NAMESPACE).get(namespaces.BRIDGE)


def _age_s(now_ms: float, then_ms: float) -> float:
    return max(0.0, (now_ms - then_ms) / 1000)
