# SPDX-License-Identifier: Apache-2.0
"""The oracle: places the same requests one at a time, on the complete current state, without concurrent decisions.

It shares no store, claims or log with the driver that it is compared with: its state is a table of its own, which
counts a placed server immediately. It does not know the future: neither later arrivals nor departures.
"""

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from devstack.lab import hosts
from devstack.lab.replay.arrivals import ArrivalBatch, ReplayRequest
from scheduler_svc.core.drivers.driver import Driver
from scheduler_svc.core.records import Snapshot
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable


@dataclass(slots=True)
class OracleResult:
    """Which servers the oracle placed: one byte per server of the trace, 1 if placed."""

    placed_flags: bytearray = field(default_factory=bytearray)

    @property
    def count(self) -> int:
        """Number of placed servers."""
        return sum(self.placed_flags)


class Oracle:
    """Places with a driver."""

    def __init__(self, snapshot: Snapshot, driver: Driver) -> None:
        self._driver = driver
        self._table = HostTable.from_snapshot(snapshot, reads=self._driver.reads)
        self._used: dict[str, dict[str, int]] = defaultdict(dict)
        self._running: list[tuple[float, int, str, Any]] = []
        self.result = OracleResult()

    def process(self, arrivals: ArrivalBatch) -> None:
        """Remove the servers that end until then, and place the arriving ones."""
        while self._running and self._running[0][0] <= arrivals.at:
            _, _, host, request = heapq.heappop(self._running)
            self._count(host, request, -1)
        for request in arrivals.requests:
            self.result.placed_flags += bytes([self._place(request)]) * len(request.members)

    def _place(self, request: ReplayRequest) -> bool:
        scheduling_request = SchedulingRequest(request.id, request.resources)
        assigned_hosts: list[str] = []
        for _ in request.members:
            with self._table.reading() as view:
                ranked = self._driver.rank(view, scheduling_request, 1, scheduling_request.seed).candidates
            if not ranked:
                for host in assigned_hosts:
                    self._count(host, request, -1)
                return False
            assigned_hosts.append(ranked[0][0])
            self._count(ranked[0][0], request, 1)
        for host, member in zip(assigned_hosts, request.members, strict=True):
            if member.ends is not None:
                heapq.heappush(self._running, (member.ends, member.number, host, request))
        return True

    def _count(self, host: str, request: ReplayRequest, sign: int) -> None:
        used = self._used[host]
        for name, amount in request.resources.items():
            used[name] = used.get(name, 0) + sign * amount
        self._table.apply_used({host: used}, hosts.POSITION)
