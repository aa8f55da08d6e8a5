# SPDX-License-Identifier: Apache-2.0
"""Rounds: concurrent calls are served together, so that they share what serving costs once.

Group commit of databases does the same: nobody waits for a timer, since what arrives while a round is served makes the
next one.
"""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RoundLimits:
    """``size`` limits a round by the sizes of its calls, ``per_owner`` those of one owner while another one waits."""

    size: int
    per_owner: int


class _WaitingCall(Generic[Item, Answer]):
    """A call until it is answered. Its thread is woken when it has the answer, or is to serve the next round."""

    def __init__(self, item: Item, owner: str, size: int) -> None:
        self.item = item
        self.owner = owner
        self.size = size
        self.outcome: Answer | BaseException | None = None
        self.is_answered = self.is_leader = False
        # Cheaper than an Event, which wakes by a condition with another lock.
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def sleep(self) -> None:
        self._asleep.acquire()

    def wake(self) -> None:
        self._asleep.release()

    def answer(self, outcome: Answer | BaseException) -> None:
        self.outcome = outcome
        self.is_answered = True

    def result(self) -> Answer:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return cast("Answer", self.outcome)


class Rounds(Generic[Item, Answer]):
    """Serves calls of many threads in rounds, one round at a time; the thread of a waiting call serves each of them.

    Calls are calls_of_round in turns between their owners, those of one owner in the order of their arrival.
    """

    def __init__(
        self, serve: Callable[[Sequence[Item]], Sequence[Answer | BaseException]], limits: RoundLimits
    ) -> None:
        """``serve`` returns for each item its answer, or the error to raise; an error that it raises is everybody's."""
        self._serve = serve
        self._limits = limits
        self._lock = threading.Lock()
        self._has_leader = False
        self._waiting: OrderedDict[str, deque[_WaitingCall[Item, Answer]]] = OrderedDict()  # by owner, in turns

    def call(self, item: Item, owner: str, size: int = 1) -> Answer:
        """Return the answer to ``item``; raises the error that it was answered with."""
        call = _WaitingCall[Item, Answer](item, owner, size)
        with self._lock:
            self._waiting.setdefault(owner, deque()).append(call)
            call.is_leader = not self._has_leader
            self._has_leader = True
        while not call.is_answered:
            if call.is_leader:
                self._lead(call)
            else:
                self._sleep(call)
        return call.result()

    def _lead(self, leader: _WaitingCall[Item, Answer]) -> None:
        """Serve a round, and let the thread of the next call serve the next one."""
        with self._lock:
            calls = self._take()
        try:
            self._answer(calls)
        finally:
            with self._lock:
                leader.is_leader = False
                successor = self._appoint()
            for call in calls if successor is None else [*calls, successor]:
                if call is not leader:
                    call.wake()

    def _appoint(self) -> _WaitingCall[Item, Answer] | None:
        """Make the next call the leader, and return it; None where none waits."""
        successor = next(iter(self._waiting.values()))[0] if self._waiting else None
        self._has_leader = successor is not None
        if successor is not None:
            successor.is_leader = True
        return successor

    def _sleep(self, call: _WaitingCall[Item, Answer]) -> None:
        """Wait for the answer, or to become the leader."""
        try:
            call.sleep()
        except BaseException:  # the green thread was killed: nobody may wait for it
            with self._lock:
                self._remove(call)
                successor = self._appoint() if call.is_leader else None
            if successor is not None:
                successor.wake()
            raise

    def _remove(self, call: _WaitingCall[Item, Answer]) -> None:
        calls = self._waiting.get(call.owner)
        if calls is not None and call in calls:
            calls.remove(call)
            if not calls:
                del self._waiting[call.owner]

    def _answer(self, calls: Sequence[_WaitingCall[Item, Answer]]) -> None:
        outcomes: Sequence[Answer | BaseException]
        try:
            outcomes = self._serve([call.item for call in calls])
        except BaseException as error:  # nobody may wait for ever, whatever ended the round
            outcomes = [error] * len(calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            call.answer(outcome)

    def _take(self) -> list[_WaitingCall[Item, Answer]]:
        """Take the calls of the next round, at least one; a call that does not fit any more is the first of the next.

        While several owners wait, one that has its share is passed over.
        """
        is_shared = len(self._waiting) > 1
        calls_of_round: list[_WaitingCall[Item, Answer]] = []
        size = 0
        shares: Counter[str] = Counter()
        passed_over: set[str] = set()
        while len(passed_over) < len(self._waiting):
            owner, calls = next(iter(self._waiting.items()))
            if calls_of_round and size + calls[0].size > self._limits.size:
                break
            self._waiting.move_to_end(owner)
            if is_shared and shares[owner] and shares[owner] + calls[0].size > self._limits.per_owner:
                passed_over.add(owner)
                continue
            calls_of_round.append(calls.popleft())
            size += calls_of_round[-1].size
            shares[owner] += calls_of_round[-1].size
            if not calls:
                del self._waiting[owner]
        return calls_of_round
