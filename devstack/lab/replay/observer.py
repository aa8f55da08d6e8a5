# SPDX-License-Identifier: Apache-2.0
"""Whoever places, an observer follows the store's log and sees how full the hosts are, and how good each choice was.

What it tells of a moment:

* *density* of a class: what is in use on the hosts that are not empty, as a share of what those have of it;
* *empty*: hosts on which nothing is in use;
* *stranded* cpu: free virtual CPUs on hosts where less memory is free than a server of the trace's commonest shape
  needs, as a share of all hosts' CPUs; stranded memory the other way round. The commonest server can have neither.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from devstack.lab import regret
from devstack.lab.regret import Choice
from devstack.lab.replay.arrivals import Shape
from devstack.lab.replay.policies import Policy
from scheduler_svc.drivers.spread import room
from scheduler_svc.filters import pipeline
from scheduler_svc.request import Request
from scheduler_svc.store.interface import Store
from scheduler_svc.store.records import Amounts, Entry
from scheduler_svc.table.table import HostTable

CPU, MEMORY = "VCPU", "MEMORY_MB"


@dataclass(frozen=True, slots=True)
class Sample:
    """One moment, in seconds of the trace; shares from 0 to 1."""

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
        """How much of the scarcer class is in use."""
        return max(self.cpu_used, self.memory_used)


class Observer:
    """Follows one partition in a table of its own; judges one claim of ``every``, in the state it was made in."""

    def __init__(self, store: Store, policy: Policy, commonest: Shape, every: int) -> None:
        self._store = store
        self._policy = policy
        self._commonest = commonest
        self._every = every
        self._claims = 0
        self.choices: list[Choice] = []
        self._table = HostTable.from_snapshot(store.snapshot())

    def catch_up(self) -> None:
        """Take over what the log has; raises LookupError where it was trimmed before it was read."""
        while True:
            found = self._store.follow(self._table.position, 0)
            if found is None:
                raise LookupError(f"The log of {self._store.partition} was trimmed before it was read")
            if not found:
                return
            for entry in found:
                self._judge(entry)
                self._table.apply(entry)

    def could_take(self, amounts: Amounts, count: int) -> bool:
        """Tell whether ``count`` such servers would find room, one after the other, in the state that is known."""
        asked = Request("look", amounts)
        with self._table.reading() as view:
            rows = np.flatnonzero(pipeline.run(self._policy.filters, view, asked).passes)
            return bool(len(rows)) and int(np.minimum(room(view, asked, rows), count).sum()) >= count

    def sample(self, at: float) -> Sample:
        """Look at the hosts as they are known."""
        with self._table.reading() as view:
            there = view.there
            capacity, free = ({name: self._column(name, what)[there] for name in (CPU, MEMORY)} for what in _COLUMNS)
        used = {name: capacity[name] - free[name] for name in capacity}
        busy = (used[CPU] > 0) | (used[MEMORY] > 0)
        vcpus, memory = self._commonest
        stranded = {CPU: free[CPU][free[MEMORY] < memory], MEMORY: free[MEMORY][free[CPU] < vcpus]}

        def share(part: Any, whole: Any) -> float:
            return float(part.sum() / whole.sum()) if whole.sum() else 0.0

        return Sample(
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

    def _judge(self, entry: Entry) -> None:
        risen = list(self._risen(entry)) if entry.kind == "used" else []
        if len(risen) != 1:  # no claim, or a whole batch, of which no single choice can be told
            return
        self._claims += 1
        if self._claims % self._every == 0:
            name, amounts = risen[0]
            self.choices.append(regret.judge(self._table, self._policy.filters, self._policy.weighted, name, amounts))

    def _risen(self, entry: Entry) -> Iterator[tuple[str, Amounts]]:
        for name, sums in entry.payload.items():
            row = self._table.rows[name]
            columns = self._table.resources
            more = {each: amount - int(columns[each].used[row]) for each, amount in sums.items()}
            if any(amount > 0 for amount in more.values()):
                yield name, {each: amount for each, amount in more.items() if amount > 0}


_COLUMNS = ("capacity", "free")
