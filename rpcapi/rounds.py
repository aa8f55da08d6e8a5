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
    """``size`` limits a round by the sizes of its calls, ``per_owner`` those of one owner while another one waits.

    ``at_once`` is how many rounds are served at the same time.
    """

    size: int
    per_owner: int
    at_once: int = 1


class _WaitingCall(Generic[Item, Answer]):
    """A call until it is answered. Its thread is woken once: when it has the answer, or a round to serve."""

    def __init__(self, item: Item, owner: str, size: int) -> None:
        self.item = item
        self.owner = owner
        self.size = size
        self.outcome: Answer | BaseException | None = None
        self.round: list[_WaitingCall[Item, Answer]] | None = None  # itself first
        # Cheaper than an Event, which wakes by a condition with another lock.
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
    """Serves calls of many threads in rounds; the thread of a round's first call serves it.

    Calls are served in turns between their owners, those of one owner in the order of their arrival.
    """

    def __init__(
        self, serve: Callable[[Sequence[Item]], Sequence[Answer | BaseException]], limits: RoundLimits
    ) -> None:
        """``serve`` returns for each item its answer, or the error to raise; an error that it raises is everybody's."""
        self._serve = serve
        self._limits = limits
        self._lock = threading.Lock()
        self._rounds = 0  # that are served, or are about to be
        self._waiting: OrderedDict[str, deque[_WaitingCall[Item, Answer]]] = OrderedDict()  # by owner, in turns

    def call(self, item: Item, owner: str, size: int = 1) -> Answer:
        """Return the answer to ``item``; raises the error that it was answered with."""
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
        """Serve a round with whatever has arrived since it was formed, and let the next one be served."""
        with self._lock:
            self._fill(calls)
        outcomes: Sequence[Answer | BaseException]
        try:
            outcomes = self._serve([call.item for call in calls])
        except BaseException as error:  # nobody may wait for ever, whatever ended the round
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
        """Return the first call of a round in place of one that has ended; None where no call waits."""
        calls: list[_WaitingCall[Item, Answer]] = []
        self._fill(calls)
        if not calls:
            self._rounds -= 1
            return None
        calls[0].round = calls
        return calls[0]

    def _fill(self, calls: list[_WaitingCall[Item, Answer]]) -> None:
        """Add waiting calls to a round until the next one does not fit; an empty round takes any.

        While several owners wait, one that has its share is passed over.
        """
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
        """Wait for the answer, or for a round to serve."""
        try:
            call.sleep()
        except BaseException:  # the green thread was killed: nobody may wait for it
            with self._lock:
                successor = self._replace(call)
            if successor is not None:
                successor.wake()
            raise

    def _replace(self, call: _WaitingCall[Item, Answer]) -> _WaitingCall[Item, Answer] | None:
        """Return the call that is to serve the round of ``call``, if that was to; ``call`` is not served itself."""
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
