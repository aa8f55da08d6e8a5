# SPDX-License-Identifier: Apache-2.0
"""Breadth-first exploration of all states within a plan's bounds, with the shortest trace to a broken promise."""

from collections import deque
from dataclasses import dataclass, field

from tests.model import promises
from tests.model.actions import PROGRESS, actions, marked
from tests.model.requests import AGAIN, MOVES, Plan, begin
from tests.model.state import State

Trace = tuple[str, ...]

TO_BE_FORGOTTEN = " (to be forgotten)"  # of a change that a loss undoes
MOST_ATTEMPTS = 7  # of each migration; a state with a later attempt is not explored further


@dataclass
class Exploration:
    """Result: the shortest trace to each broken promise, and the number of states and steps."""

    states: int = 0
    steps: int = 0
    is_complete: bool = True
    traces: dict[str, Trace] = field(default_factory=dict)


class Explorer:
    """Explores one plan. States are numbered in the order in which they were found."""

    def __init__(self, plan: Plan, limit: int, until: str) -> None:
        self._plan = plan
        self._limit = limit
        self._until = until
        self._numbers: dict[State, int] = {}
        self._parents: list[tuple[int, str]] = []
        self._sources: list[list[int]] = []  # of each state, those from which the cluster comes to it by itself
        self._queue: deque[State] = deque()
        self._result = Exploration()

    def run(self) -> Exploration:
        self._add(begin(self._plan), -1, "begin")
        while self._queue:
            if len(self._numbers) > self._limit:
                self._result.is_complete = False
                break
            if self._until in self._result.traces:
                return self._result
            self._expand(self._queue.popleft())
        self._result.states = len(self._numbers)
        if self._result.is_complete:
            self._find_traps()
        return self._result

    def _expand(self, state: State) -> None:
        number = self._numbers[state]
        for label, kind, after in actions(state, self._plan):
            self._result.steps += 1
            if after == state:
                continue
            broken = promises.broken_by_step(state, after) or promises.broken_by_state(after)
            if broken:
                if broken not in self._result.traces:
                    self._result.traces[broken] = (*self._trace(number), label)
                continue
            existing = self._add(after, number, label)
            if kind == PROGRESS:
                self._sources[existing].append(number)
            for with_mark in marked(state, after, self._plan.stores):
                self._add(with_mark, number, label + TO_BE_FORGOTTEN)

    def _add(self, state: State, parent: int, label: str) -> int:
        number = self._numbers.get(state)
        if number is None:
            number = self._numbers[state] = len(self._numbers)
            self._parents.append((parent, label))
            self._sources.append([])
            if not self._is_cut(state):
                self._queue.append(state)
        return number

    def _find_traps(self) -> None:
        """Find the first state from which the cluster never comes to a good state of rest by itself."""
        reached = [
            number for state, number in self._numbers.items() if promises.is_good_rest(state) or self._is_cut(state)
        ]
        is_safe = bytearray(len(self._numbers))
        for number in reached:
            is_safe[number] = 1
        while reached:
            for source in self._sources[reached.pop()]:
                if not is_safe[source]:
                    is_safe[source] = 1
                    reached.append(source)
        trap = is_safe.find(0)
        if trap >= 0:
            self._result.traces[promises.NEVER_RESTS] = self._trace(trap)

    def _is_cut(self, state: State) -> bool:
        moves = sum(name.removesuffix(AGAIN) in MOVES for name in self._plan.requests)
        return state.record is not None and state.record.transition_number > MOST_ATTEMPTS * max(1, moves)

    def _trace(self, number: int) -> Trace:
        labels = []
        while number >= 0:
            number, label = self._parents[number]
            labels.append(label)
        return tuple(reversed(labels))


def explore(plan: Plan, limit: int = 2_000_000, until: str = "") -> Exploration:
    """Explore the states of a plan, all of them or until the promise ``until`` is broken."""
    return Explorer(plan, limit, until).run()
