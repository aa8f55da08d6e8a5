# SPDX-License-Identifier: Apache-2.0
"""Observer of a replay, which follows the store's log, samples usage and judges claims.

*Density* of a class is the used share of the capacity of non-empty hosts. *Stranded* CPU is the share of all CPUs that
is free on hosts with less free memory than the trace's most common server needs; stranded memory is the reverse.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from devstack.lab.race import regret
from devstack.lab.race.regret import JudgedClaim
from devstack.lab.replay.arrivals import ServerShape
from devstack.lab.replay.policies import ReplayPolicy
from scheduler_svc.core.drivers.spread import instance_capacity
from scheduler_svc.core.filtering import pipeline
from scheduler_svc.core.records import CLAIM_COUNTS, Amounts, LogEntry
from scheduler_svc.core.request import SchedulingRequest
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.store.protocols.log import LogStore

CPU, MEMORY = "VCPU", "MEMORY_MB"


@dataclass(frozen=True, slots=True)
class UsageSample:
    """Usage at a second of the trace; shares are from 0 to 1."""

    at: float
    cpu_density: float
    memory_density: float
    cpu_used: float
    memory_used: float
    empty_hosts: int
    stranded_cpu: float
    stranded_memory: float

    @property
    def fill(self) -> float:
        return max(self.cpu_used, self.memory_used)


class ReplayObserver:
    """Follower of a partition with its own table; it judges one of ``every`` claims in the state before it."""

    def __init__(self, store: LogStore, policy: ReplayPolicy, commonest: ServerShape, every: int) -> None:
        self._store = store
        self._policy = policy
        self._commonest = commonest
        self._every = every
        self._claims = 0
        self.claims: list[JudgedClaim] = []
        self._table = HostTable.from_snapshot(store.snapshot())

    def catch_up(self) -> None:
        for entry in regret.entries(self._store, self._table.partitions[0].position):
            self._judge(entry)
            self._table.apply(entry)

    def could_take(self, amounts: Amounts, count: int) -> bool:
        """Return whether ``count`` servers of these amounts would fit now."""
        request = SchedulingRequest("look", amounts)
        with self._table.reading() as view:
            rows = np.flatnonzero(pipeline.run(self._policy.filters, view, request).passes)
            return bool(len(rows)) and int(np.minimum(instance_capacity(view, request, rows), count).sum()) >= count

    def sample(self, at: float) -> UsageSample:
        with self._table.reading() as view:
            exists = view.present
            capacity, free = ({name: self._column(name, what)[exists] for name in (CPU, MEMORY)} for what in _COLUMNS)
        used = {name: capacity[name] - free[name] for name in capacity}
        busy = (used[CPU] > 0) | (used[MEMORY] > 0)
        vcpus, memory = self._commonest
        stranded = {CPU: free[CPU][free[MEMORY] < memory], MEMORY: free[MEMORY][free[CPU] < vcpus]}

        def share(part: Any, whole: Any) -> float:
            return float(part.sum() / whole.sum()) if whole.sum() else 0.0

        return UsageSample(
            at=at,
            cpu_density=share(used[CPU][busy], capacity[CPU][busy]),
            memory_density=share(used[MEMORY][busy], capacity[MEMORY][busy]),
            cpu_used=share(used[CPU], capacity[CPU]),
            memory_used=share(used[MEMORY], capacity[MEMORY]),
            empty_hosts=int(np.count_nonzero(~busy)),
            stranded_cpu=share(stranded[CPU], capacity[CPU]),
            stranded_memory=share(stranded[MEMORY], capacity[MEMORY]),
        )

    def _column(self, name: str, what: str) -> Any:
        return getattr(self._table.resources[name], what)[: len(self._table.names)].copy()

    def _judge(self, entry: LogEntry) -> None:
        increases = list(self._increases(entry)) if entry.kind == "used" else []
        if len(increases) != 1:  # no claim, or a batch of several choices
            return
        self._claims += 1
        if self._claims % self._every == 0:
            name, amounts = increases[0]
            self.claims.append(regret.judge(self._table, self._policy.filters, self._policy.weighted, name, amounts))

    def _increases(self, entry: LogEntry) -> Iterator[tuple[str, Amounts]]:
        for name, sums in entry.payload.items():
            row = self._table.partitions[0].rows[name]
            columns = self._table.resources
            increases = {
                resource_class: sums[resource_class] - int(columns[resource_class].used[row])
                for resource_class in sums.keys() - CLAIM_COUNTS
            }
            if any(amount > 0 for amount in increases.values()):
                yield name, {resource_class: amount for resource_class, amount in increases.items() if amount > 0}


_COLUMNS = ("capacity", "free")
