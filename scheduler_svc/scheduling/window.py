# SPDX-License-Identifier: Apache-2.0
"""Micro-batching window: ranks calls together that arrive within it."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass

from oslo_log import log

from rpcapi import errors
from scheduler_svc.scheduling.calls import SelectionCall
from scheduler_svc.scheduling.policy import SchedulingPolicy
from scheduler_svc.scheduling.ranking import RankingSnapshot

LOG = log.getLogger(__name__)

RankTogether = Callable[[SchedulingPolicy, Sequence[SelectionCall]], Sequence[RankingSnapshot | None]]


class _Round:
    def __init__(self, policy: SchedulingPolicy | None = None) -> None:
        self.policy = policy
        self.calls: list[tuple[SelectionCall, Future[RankingSnapshot | None]]] = []
        self.full = threading.Event()


@dataclass(frozen=True, slots=True)
class WindowLimits:
    seconds: float = 0.0
    max_calls: int = 1


NO_WINDOW = WindowLimits()


class BatchWindow:
    """Collects calls into rounds. A round's first caller waits and then ranks all; the others wait for it."""

    def __init__(self, rank: RankTogether, seconds: float, max_calls: int) -> None:
        """A round closes after ``seconds`` or at ``max_calls`` calls."""
        self._rank = rank
        self._seconds = seconds
        self._max_calls = max_calls
        self._lock = threading.Lock()
        self._round = _Round()

    def rank(self, policy: SchedulingPolicy, call: SelectionCall) -> RankingSnapshot | None:
        """Join the open round; return this call's ranking, or None to decide it alone."""
        future: Future[RankingSnapshot | None] = Future()
        with self._lock:
            if self._round.policy is not policy:  # the first call, or the first after a reload
                self._round.full.set()
                self._round = _Round(policy)
            round_ = self._round
            round_.calls.append((call, future))
            is_leader = len(round_.calls) == 1
            if len(round_.calls) >= self._max_calls:
                round_.full.set()
                self._round = _Round()
        if is_leader:
            round_.full.wait(self._seconds)
            self._close(policy, round_)
        return future.result()

    def _close(self, policy: SchedulingPolicy, closed_round: _Round) -> None:
        with self._lock:
            if self._round is closed_round:
                self._round = _Round()
        snapshots: Sequence[RankingSnapshot | None] = [None] * len(closed_round.calls)
        try:
            snapshots = self._rank(policy, [call for call, _ in closed_round.calls])
        except errors.GanttError as error:
            LOG.warning("%d requests are decided one by one: %s", len(closed_round.calls), error)
        finally:
            # Even after an error, so that waiting calls do not hang.
            for (_, future), snapshot in zip(closed_round.calls, snapshots, strict=True):
                future.set_result(snapshot)
