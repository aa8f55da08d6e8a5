# SPDX-License-Identifier: Apache-2.0
"""Simulated copy of a running guest: the disk once, then the memory, which the guest keeps changing."""

import time
from dataclasses import dataclass, replace
from enum import Enum, auto

from compute_agent.simulator.profile import HostProfile


class CopyEvent(Enum):
    NONE = auto()
    COMPLETE = auto()
    FAILURE = auto()
    DEATH = auto()  # the source's host dies


def monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True, slots=True)
class SimulatedCopy:
    """Copy of one guest; sizes in MiB, rates in MiB per second, times in milliseconds of one clock.

    The guest dirties memory at ``dirty_rate`` until it is stopped: once the rest can be copied in ``downtime_ms``, or
    at ``forced_ms``. ``failure_ms`` and ``death_ms`` are simulated faults.
    """

    memory_mb: int
    disk_mb: int
    copy_rate: float
    dirty_rate: float
    downtime_ms: int
    started_ms: int
    forced_ms: int | None = None
    failure_ms: int | None = None
    death_ms: int | None = None

    @classmethod
    def begin(
        cls, profile: HostProfile, identity: tuple[str, int], memory_mb: int, disk_mb: int, now_ms: int
    ) -> "SimulatedCopy":
        """Begin a copy now; ``identity`` (instance, number) seeds its failures."""
        shortest_ms = 1000 * (memory_mb + disk_mb) / profile.copy_rate
        source = profile.random_source("copy", *identity)
        # Shares of shortest_ms after which the copy fails or its host dies.
        shares = [source.random() for _ in range(2)]
        fails, dies = (source.random() < rate for rate in (profile.copy_failure_rate, profile.copy_death_rate))
        return cls(
            memory_mb=memory_mb,
            disk_mb=disk_mb,
            copy_rate=profile.copy_rate,
            dirty_rate=profile.dirty_rate,
            downtime_ms=round(1000 * profile.copy_downtime),
            started_ms=now_ms,
            failure_ms=now_ms + round(shares[0] * shortest_ms) if fails else None,
            death_ms=now_ms + round(shares[1] * shortest_ms) if dies else None,
        )

    def force(self, now_ms: int) -> "SimulatedCopy":
        """Return the copy with the guest stopped from now on; idempotent."""
        return self if self.forced_ms is not None else replace(self, forced_ms=now_ms)

    @property
    def total_mb(self) -> int:
        return self.memory_mb + self.disk_mb

    def remaining_mb(self, now_ms: int) -> float:
        copied = self.copied_mb(now_ms)
        return self.disk_mb - min(copied, self.disk_mb) + self._memory_left(now_ms)

    def copied_mb(self, now_ms: int) -> float:
        """Return the amount copied so far, including memory that was copied again."""
        end_ms = self._complete_ms()
        until_ms = now_ms if end_ms is None else min(now_ms, end_ms)
        return self.copy_rate * max(0, until_ms - self.started_ms) / 1000

    def event(self, now_ms: int) -> CopyEvent:
        due = [(at_ms, event) for at_ms, event in self._events() if at_ms <= now_ms]
        return min(due, key=lambda item: item[0])[1] if due else CopyEvent.NONE

    def wait_ms(self, now_ms: int) -> int | None:
        """Return the ms until the next event; None if only a force or abort can end the copy."""
        times = [at_ms for at_ms, _event in self._events()]
        return max(0, min(times) - now_ms) if times else None

    def _events(self) -> list[tuple[int, CopyEvent]]:
        events = (
            (self.death_ms, CopyEvent.DEATH),
            (self.failure_ms, CopyEvent.FAILURE),
            (self._complete_ms(), CopyEvent.COMPLETE),
        )
        return [(at_ms, event) for at_ms, event in events if at_ms is not None]

    def _memory_start_ms(self) -> float:
        return self.started_ms + 1000 * self.disk_mb / self.copy_rate

    def _memory_left(self, now_ms: float) -> float:
        start_ms = self._memory_start_ms()
        forced_ms = now_ms if self.forced_ms is None else max(self.forced_ms, start_ms)
        dirty_s = max(0.0, min(now_ms, forced_ms) - start_ms) / 1000
        clean_s = max(0.0, now_ms - max(forced_ms, start_ms)) / 1000
        left = self.memory_mb - (self.copy_rate - self.dirty_rate) * dirty_s
        return max(0.0, min(self.memory_mb, left) - self.copy_rate * clean_s)

    def _complete_ms(self) -> int | None:
        """Return when the copy is complete; None if the guest dirties memory as fast as it is copied."""
        times = []
        gain = self.copy_rate - self.dirty_rate
        last_mb = min(self.memory_mb, self.copy_rate * self.downtime_ms / 1000)  # copied while the guest is stopped
        if last_mb == self.memory_mb or gain > 0:
            running_s = (self.memory_mb - last_mb) / gain if last_mb < self.memory_mb else 0.0
            times.append(self._memory_start_ms() + 1000 * (running_s + last_mb / self.copy_rate))
        if self.forced_ms is not None:
            forced_ms = max(self.forced_ms, self._memory_start_ms())
            times.append(forced_ms + 1000 * self._memory_left(forced_ms) / self.copy_rate)
        return round(min(times)) if times else None
