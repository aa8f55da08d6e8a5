# SPDX-License-Identifier: Apache-2.0
"""Observer of the hosts that Nova claims for shadowed requests, by their allocations in the store.

nova-scheduler puts an instance's allocations before it answers, so they show its choice without access to Nova's
databases or replies. The store has them because gantt-placement serves Nova, or mirrors the Placement that does.
"""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from scheduler_svc.nova.shadow.allocated_hosts import AllocatedHosts
from scheduler_svc.nova.shadow.comparison import compare
from scheduler_svc.nova.shadow.decisions import ShadowDecision
from scheduler_svc.nova.shadow.report import NovaShadowReport, Skipped

MAX_PENDING = 100  # requests; each keeps six bytes per host


@dataclass(slots=True)
class _Pending:
    """Decision that waits for Nova's decision until ``deadline``."""

    decision: ShadowDecision
    # {consumer: hosts with its allocations before the decision}, as in an evacuation
    earlier: dict[str, Collection[str]]
    deadline: float
    others: int  # decisions that were pending when this one was added
    hosts: dict[str, str] = field(default_factory=dict)  # {consumer: host that Nova claimed}, as far as known

    @property
    def missing(self) -> list[str]:
        return [consumer for consumer in self.decision.consumers if consumer not in self.hosts]


class NovaObserver:
    """Observer that compares decisions with the allocations that follow them. Thread-safe."""

    def __init__(
        self,
        allocated: AllocatedHosts,
        report: NovaShadowReport,
        timeout_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """``timeout_s``: time without an allocation after which Nova is assumed to have refused."""
        self._allocated = allocated
        self._report = report
        self._timeout_s = timeout_s
        self._clock = clock
        self._lock = threading.Lock()
        self._pending: list[_Pending] = []

    @property
    def has_room(self) -> bool:
        with self._lock:
            return len(self._pending) < MAX_PENDING

    def expect(self, decision: ShadowDecision) -> None:
        """Queue a decision; skip it as LATE if it already counted Nova's claims. Raises StoreUnavailable."""
        earlier = self._allocated.read(decision.consumers)
        for names in earlier.values():
            if set(names) - self._allocated.on_service_hosts(names, decision.ignored):
                self._report.skip(Skipped.LATE)
                return
        with self._lock:
            pending = _Pending(decision, dict(earlier), self._clock() + self._timeout_s, len(self._pending))
            self._pending.append(pending)

    def compare_pending(self) -> None:
        """Read Nova's new claims and report the finished comparisons. Raises StoreUnavailable."""
        with self._lock:
            waiting = list(self._pending)
        now = self._clock()
        allocations = self._allocated.read([consumer for pending in waiting for consumer in pending.missing])
        for pending in waiting:
            for consumer in pending.missing:
                added = set(allocations.get(consumer, ())) - set(pending.earlier.get(consumer, ()))
                if added:
                    pending.hosts[consumer] = min(added)
            if not pending.missing or now >= pending.deadline:
                self._conclude(pending)

    def _conclude(self, pending: _Pending) -> None:
        with self._lock:
            self._pending.remove(pending)
        decision = pending.decision
        # Nova places all instances of a request or none: it has undone the claims of a part.
        nova_hosts = [] if pending.missing else [pending.hosts[consumer] for consumer in decision.consumers]
        self._report.add(decision, compare(decision, nova_hosts, self._allocated.named_row), pending.others)

    def stop(self) -> None:
        """Report pending decisions as not compared."""
        with self._lock:
            waiting, self._pending = self._pending, []
        for _pending in waiting:
            self._report.skip(Skipped.STOPPED)
