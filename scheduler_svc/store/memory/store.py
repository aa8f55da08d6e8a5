# SPDX-License-Identifier: Apache-2.0
"""In-memory backend: every verb runs under one lock."""

import pickle
import time
from collections.abc import Callable
from threading import Condition
from typing import Any, Concatenate, Unpack

from scheduler_svc.core.records import LogEntry
from scheduler_svc.store.log import without_gap
from scheduler_svc.store.memory.partition import MemoryPartition
from scheduler_svc.store.protocols.runner import P, T
from scheduler_svc.store.records import StoreOptions
from scheduler_svc.store.verb_store import VerbStore


def wall_clock() -> int:
    """Return milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


class MemoryStore(VerbStore):
    """Store in this process's memory. ``clock`` is the server's clock: ms since the Unix epoch."""

    def __init__(
        self, partition: str, *, clock: Callable[[], int] = wall_clock, **options: Unpack[StoreOptions]
    ) -> None:
        super().__init__(partition, **options)
        self.state = MemoryPartition(self.options["log_length"], by_group=self.options["liveness"] == "group")
        self._clock = clock
        self._changed = Condition()
        self.state.begin_epoch(clock())

    def _follow(self, position: int, block_ms: int, limit: int) -> list[LogEntry] | None:
        deadline = time.monotonic() + block_ms / 1000
        with self._changed:
            while self.state.position == position and time.monotonic() < deadline:
                self._changed.wait(deadline - time.monotonic())
            return without_gap(position, self.state.entries(position, limit), self.state.position)

    def check_identity(self) -> tuple[int, bool]:
        return self.state.epoch, False

    def begin_epoch(self) -> int:
        """Begin a new epoch, as after a possible loss of writes, and return its number."""
        with self._changed:
            self.state.begin_epoch(self._clock())
            self._changed.notify_all()
            return self.state.epoch

    def _run(self, verb: Callable[Concatenate[Any, int, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        with self._changed:
            now = self.state.advance(self._clock(), self.options["max_step_ms"])
            try:
                return verb(self.state, now, *arguments, **options)
            finally:  # a verb that raises may already have expired claims
                self.state.flush(now)
                self._changed.notify_all()

    def _read(self, verb: Callable[Concatenate[Any, P], T], /, *arguments: P.args, **options: P.kwargs) -> T:
        with self._changed:
            # Copy the answer, so that the caller cannot change the store. copy.deepcopy takes five times as long.
            copied: T = pickle.loads(pickle.dumps(verb(self.state, *arguments, **options)))  # noqa: S301 - own bytes
            return copied
