# SPDX-License-Identifier: Apache-2.0
"""The oracle: the same requests one at a time, each on the whole present state, and nobody else deciding.

It shares no store, no claim and no log with what it is compared with: its state is its own table, and a server that it
places is counted there at once. It does not know the future: neither what comes next nor who leaves when.
"""

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from devstack.lab import hosts
from devstack.lab.driver import default
from devstack.lab.replay.arrivals import Moment, Wanted
from devstack.lab.replay.policies import Policy
from scheduler_svc.drivers.driver import Driver
from scheduler_svc.request import Request
from scheduler_svc.store.records import Snapshot
from scheduler_svc.table.table import HostTable


@dataclass(slots=True)
class Foresight:
    """Whom the oracle placed: a byte a server of the trace, 1 for placed."""

    placed: bytearray = field(default_factory=bytearray)

    @property
    def count(self) -> int:
        """How many it placed."""
        return sum(self.placed)


class Oracle:
    """Places by the weighers of a policy: a driver that chooses otherwise is compared with the default one."""

    def __init__(self, snapshot: Snapshot, policy: Policy) -> None:
        self._driver: Driver = policy.driver if policy.packs else default()
        self._table = HostTable.from_snapshot(snapshot, reads=self._driver.reads)
        self._used: dict[str, dict[str, int]] = defaultdict(dict)
        self._running: list[tuple[float, int, str, Any]] = []
        self.foresight = Foresight()

    def go_through(self, moment: Moment) -> None:
        """Let leave who leaves until then, and place who arrives."""
        while self._running and self._running[0][0] <= moment.at:
            _, _, host, wanted = heapq.heappop(self._running)
            self._count(host, wanted, -1)
        for wanted in moment.wanted:
            self.foresight.placed += bytes([self._place(wanted)]) * len(wanted.members)

    def _place(self, wanted: Wanted) -> bool:
        asked = Request(wanted.id, wanted.resources)
        given: list[str] = []
        for _ in wanted.members:
            with self._table.reading() as view:
                ranked = self._driver.rank(view, asked, 1, asked.seed).candidates
            if not ranked:
                for host in given:
                    self._count(host, wanted, -1)
                return False
            given.append(ranked[0][0])
            self._count(ranked[0][0], wanted, 1)
        for host, member in zip(given, wanted.members, strict=True):
            if member.ends is not None:
                heapq.heappush(self._running, (member.ends, member.number, host, wanted))
        return True

    def _count(self, host: str, wanted: Wanted, sign: int) -> None:
        used = self._used[host]
        for name, amount in wanted.resources.items():
            used[name] = used.get(name, 0) + sign * amount
        self._table.apply_used({host: used}, hosts.POSITION)
