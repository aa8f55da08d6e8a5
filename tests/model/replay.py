# SPDX-License-Identifier: Apache-2.0
"""Random traces of the model whose verbs are executed on the real store too."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.model import verbs
from tests.model.actions import ALL_FORGOTTEN, CLAIMS_FORGOTTEN, FAULT, Action, actions, marked
from tests.model.real_store import RealStore
from tests.model.requests import Plan, begin
from tests.model.state import Store

VERBS = (
    *("prepare", "confirm", "abort", "release", "find", "begin_move", "end_move"),
    *("vouch", "audit", "fence", "expire"),
)
LENGTH = 60
FAULT_SHARE = 0.3


class Call(NamedTuple):
    """A call of the model's verb, with the store before and after it, and its answer."""

    verb: str
    arguments: tuple[Any, ...]
    keywords: dict[str, Any]
    before: Store
    after: Store
    answer: Any


@contextmanager
def recorded() -> Iterator[list[Call]]:
    """Record the calls of the model's verbs that are not made by another one."""
    calls: list[Call] = []
    depth = [0]
    originals = {name: getattr(verbs, name) for name in (*VERBS, "forget")}

    def wrap(name: str, verb: Callable[..., Any]) -> Callable[..., Any]:
        def call(store: Store, *arguments: Any, **keywords: Any) -> Any:
            depth[0] += 1
            try:
                result = verb(store, *arguments, **keywords)
            finally:
                depth[0] -= 1
            after, answer = result if type(result) is tuple else (result, None)
            if not depth[0] and name in VERBS:
                calls.append(Call(name, arguments, keywords, store, after, answer))
            return result

        return call

    try:
        for name, verb in originals.items():
            setattr(verbs, name, wrap(name, verb))
        yield calls
    finally:
        for name, verb in originals.items():
            setattr(verbs, name, verb)


def choose(chance: random.Random, possible: list[Action]) -> Action:
    """Choose the next action of a trace; a part of them are faults."""
    faults = [action for action in possible if action.kind == FAULT]
    others = [action for action in possible if action.kind != FAULT]
    if faults and (not others or chance.random() < FAULT_SHARE):
        return chance.choice(faults)
    return chance.choice(others)


class Replay:
    """One random trace. After each action the real store has what the model's store has."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self._plan = plan
        self._random = random.Random(seed)
        self._mark: Any = None
        self.state = begin(plan)
        self._real = [RealStore(store) for store in self.state.stores]
        self.labels: list[str] = []
        self.calls = 0
        if plan.is_booted:
            claim = self.state.stores[0].claims[0]
            self._real[0].prepare(1, (0, *claim.alternates), 0, is_fresh=True)
            self._real[0].confirm(0, 1)

    def run(self) -> None:
        self._compare()
        for _ in range(LENGTH):
            if not self._take_step():
                return
            self._compare()

    def _take_step(self) -> bool:
        with recorded() as calls:
            possible = [action for action in actions(self.state, self._plan) if action.state != self.state]
        for call in calls:  # answers of all verbs that could be called now and change nothing
            if call.before is self.state.stores[call.before.partition] and call.after == call.before:
                self._execute(call)
        if not possible:
            return False
        action = choose(self._random, possible)
        after = action.state
        with_marks = list(marked(self.state, after, self._plan.stores))
        if with_marks and self._random.random() < FAULT_SHARE:
            after = self._random.choice(with_marks)
            self._mark = [real.partition.mark() for real in self._real]
        self.labels.append(action.label)
        self._follow(action, calls)
        self.state = after
        return True

    def _follow(self, action: Action, calls: list[Call]) -> None:
        """Make the calls that lead from the store before an action to the one after it."""
        for before, after in zip(self.state.stores, action.state.stores, strict=True):
            real = self._real[before.partition]
            if before is after:
                continue
            if action.label.startswith((CLAIMS_FORGOTTEN, ALL_FORGOTTEN)):
                real.partition.forget_since(self._mark[before.partition])
            elif action.label.startswith("the deadline of the claim passes"):
                real.pass_deadline()
            else:
                for call in _chain(calls, before, after):
                    self._execute(call)

    def _execute(self, call: Call) -> None:
        self.calls += 1
        answer = getattr(self._real[call.before.partition], call.verb)(*call.arguments, **call.keywords)
        assert answer == call.answer, (self.labels, call, answer)

    def _compare(self) -> None:
        contents = tuple(real.contents() for real in self._real)
        assert contents == self.state.stores, (self.labels, contents, self.state.stores)


def _chain(calls: list[Call], before: Store, after: Store) -> list[Call]:
    """Return the calls that lead from one store to another, by the identity of the model's values."""
    chain: list[Call] = []
    while after is not before:
        call = next((call for call in calls if call.after is after and call.before is not after), None)
        if call is None:
            assert after == before, "no call leads there"
            break
        chain.insert(0, call)
        after = call.before
    return chain
