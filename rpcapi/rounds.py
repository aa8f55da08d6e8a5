# SPDX-License-Identifier: Apache-2.0
"""Rounds of concurrent calls that share fixed costs: calls that arrive during a round form the next one."""

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

Item = TypeVar("Item")
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class RoundLimits:
    """Limits of rounds, in units of the calls' sizes."""

    size: int  # limit of one round
    per_owner: int  # share of an owner in a round while other owners wait
    at_once: int = 1  # concurrent rounds


class _WaitingCall(Generic[Item, Answer]):
    def __init__(self, item: Item, owner: str, size: int) -> None:
        self.item = item
        self.owner = owner
        self.size = size
        self.outcome: Answer | BaseException | None = None
        self.round: list[_WaitingCall[Item, Answer]] | None = None  # round that this call's thread must serve
        # Cheaper than an Event, which has a condition and a second lock.
        self._asleep = threading.Lock()
        self._asleep.acquire()

    def sleep(self) -> None:
        self._asleep.acquire()

    def wake(self) -> None:
        self._asleep.release()

    def result(self) -> Answer:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return cast("Answer", self.outcome)


class Rounds(Generic[Item, Answer]):
    """Server of rounds in the thread of each round's first call; owners take turns in the order of arrival."""

    def __init__(
        self, serve: Callable[[Sequence[Item]], Sequence[Answer | BaseException]], limits: RoundLimits
    ) -> None:
        """``serve`` returns an answer or error per item; an error that it raises goes to all callers."""
        self._serve = serve
        self._limits = limits
        self._lock = threading.Lock()
        self._rounds = 0  # being served, or about to be
        # By owner, in the order of turns.
        self._waiting: OrderedDict[str, deque[_WaitingCall[Item, Answer]]] = OrderedDict()

    def call(self, item: Item, owner: str, size: int = 1) -> Answer:
        call = _WaitingCall[Item, Answer](item, owner, size)
        with self._lock:
            if self._rounds < self._limits.at_once:
                self._rounds += 1
                call.round = [call]
            else:
                self._waiting.setdefault(owner, deque()).append(call)
        if call.round is None:
            self._sleep(call)
        if call.round is not None:
            self._lead(call.round)
        return call.result()

    def _lead(self, calls: list[_WaitingCall[Item, Answer]]) -> None:
        with self._lock:
            self._fill(calls)
        outcomes: Sequence[Answer | BaseException]
        try:
            outcomes = self._serve([call.item for call in calls])
        except BaseException as error:  # all callers must wake
            outcomes = [error] * len(calls)
        for call, outcome in zip(calls, outcomes, strict=True):
            call.outcome = outcome
        with self._lock:
            successor = self._form_round()
        for call in calls[1:]:
            call.wake()
        if successor is not None:
            successor.wake()

    def _form_round(self) -> _WaitingCall[Item, Answer] | None:
        calls: list[_WaitingCall[Item, Answer]] = []
        self._fill(calls)
        if not calls:
            self._rounds -= 1
            return None
        calls[0].round = calls
        return calls[0]

    def _fill(self, calls: list[_WaitingCall[Item, Answer]]) -> None:
        """Add waiting calls until the next does not fit. While several owners wait, each has a limited share."""
        shares = Counter[str]()
        for call in calls:
            shares[call.owner] += call.size
        owners = len(shares.keys() | self._waiting.keys())
        passed_over: set[str] = set()
        while len(passed_over) < len(self._waiting):
            owner, waiting = next(iter(self._waiting.items()))
            size = waiting[0].size
            if calls and shares.total() + size > self._limits.size:
                break
            self._waiting.move_to_end(owner)
            if owners > 1 and shares[owner] and shares[owner] + size > self._limits.per_owner:
                passed_over.add(owner)
                continue
            calls.append(waiting.popleft())
            shares[owner] += size
            if not waiting:
                del self._waiting[owner]

    def _sleep(self, call: _WaitingCall[Item, Answer]) -> None:
        try:
            call.sleep()
        except BaseException:  # the green thread was killed: pass its round on
            with self._lock:
                successor = self._replace(call)
            if successor is not None:
                successor.wake()
            raise

    def _replace(self, call: _WaitingCall[Item, Answer]) -> _WaitingCall[Item, Answer] | None:
        """Remove ``call``; return the call that takes over its round, or None."""
        waiting = self._waiting.get(call.owner, deque())
        if call in waiting:
            waiting.remove(call)
            if not waiting:
                del self._waiting[call.owner]
        if call.round is None:
            return None
        others = call.round[1:]
        if not others:
            return self._form_round()
        others[0].round = others
        return others[0]
