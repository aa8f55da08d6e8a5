# SPDX-License-Identifier: Apache-2.0
"""The saga: takes each due step of a request, and records where that led before it takes the next."""

import threading
from collections.abc import Callable, Sequence

from oslo_log import log

from conductor import metrics, milestones
from conductor.peers import Peers
from conductor.saga import abort, alternate, cast, claims, select, settle, wait
from conductor.saga.turn import Limits, Turn
from conductor.store.interface import Store
from conductor.store.records import Instance, Lease, Step

LOG = log.getLogger(__name__)

Take = Callable[[Turn, Sequence[Instance]], list[Instance]]

# Each is given at most so many instances before what came of it is recorded.
WHOLE_REQUEST = 1_000_000
MESSAGES = 1000  # to many hosts in a row, so not for long at a time

STEPS: tuple[tuple[Step, Take, int], ...] = (
    (Step.ABORT, abort.abort, claims.REFS // 2),  # first what frees room; two claims an instance
    (Step.TERMINATE, cast.terminate, MESSAGES),
    (Step.SELECT, select.select, WHOLE_REQUEST),  # one decision a request: all are placed, or none
    (Step.SETTLE, settle.settle, 10),  # one call an instance, so not for long at a time
    (Step.WAIT, wait.wait, MESSAGES),
    (Step.ALTERNATE, alternate.alternate, claims.INTENTS),
    (Step.CAST, cast.build, MESSAGES),
)


class Saga:
    """Has no memory of its own: a first run, a retry and a take-over are the same walk."""

    def __init__(self, store: Store, peers: Peers, limits: Limits, stopping: threading.Event) -> None:
        self._store = store
        self._peers = peers
        self.limits = limits  # replaced when the configuration is read anew
        self._stopping = stopping

    def advance(self, lease: Lease) -> None:
        """Take every step that is due, then give the lease back; on a stop, after the round under way.

        Raises LeaseLost, StoreUnavailable; another conductor then goes on from what is recorded.
        """
        new = lease.taken_over
        while True:
            work = self._store.load(lease)
            if not work.instances or self._stopping.is_set():
                self._store.release(lease, work.now_ms if work.instances else work.next_ms)
                return
            turn = Turn(self._peers, self.limits, work.request, work.now_ms)
            turn.context().update_store()
            if new:
                LOG.info("Taking this request over: its conductor let its lease pass")
                new = False
            for step, take, most in STEPS:
                self._take(lease, turn, [each for each in work.instances if each.step == step], take, most)

    def _take(self, lease: Lease, turn: Turn, due: Sequence[Instance], take: Take, most: int) -> None:
        for start in range(0, len(due), most):
            group = due[start : start + most]
            metrics.STEPS.labels(group[0].step.value).inc()
            # One whose record changed meanwhile is left as it is; its new step is found in the next round.
            changed = take(turn, group)
            milestones.tell(group, changed, self._store.write(lease, changed).stale)
