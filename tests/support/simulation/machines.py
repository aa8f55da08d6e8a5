# SPDX-License-Identifier: Apache-2.0
"""State machines whose steps are recorded, and runs of them: first of kept examples, then of those of a seed."""

import functools
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import hypothesis
from hypothesis import HealthCheck, Phase, settings, stateful
from hypothesis.stateful import RuleBasedStateMachine, invariant, run_state_machine_as_test

from tests.support import seed
from tests.support.simulation import corpus
from tests.support.simulation.corpus import Step

PLANTED_SEED = 4  # of examples in which a planted mistake is found


class RecordedMachine(RuleBasedStateMachine):
    """State machine that counts its examples and steps, and remembers the steps of the last example.

    Its rules are made by ``rule`` and ``initialize`` of this module; their arguments have a JSON form.
    """

    last_steps: ClassVar[list[Step]]
    counts: ClassVar[Counter[str]]
    hits: ClassVar[Counter[tuple[str, str]]]  # by fault and saga step, of a machine with both

    def __init__(self) -> None:
        super().__init__()
        type(self).last_steps = []
        self._is_in_step = False
        self._handled = sys.exception()  # a machine may run while a failure of another one is handled

    @property
    def is_failing(self) -> bool:
        """Whether an exception is on its way out of this machine's example; for ``teardown``."""
        return sys.exception() is not self._handled

    def run_step(self, function: Callable[..., None], *values: Any, **arguments: Any) -> None:
        """Record a step and run it; a rule that another one calls is a part of that one's step."""
        if self._is_in_step:
            function(self, *values, **arguments)
            return
        self.last_steps.append((function.__name__, arguments))
        self._is_in_step = True
        try:
            function(self, *values, **arguments)
        finally:
            self._is_in_step = False

    @invariant()
    def everything_holds(self) -> None:
        self.check()

    def check(self) -> None:
        """Assert what holds after each step."""

    def teardown(self) -> None:
        """Count the example, unless it failed or Hypothesis gave it up."""
        if not self.is_failing:
            self.counts["examples"] += 1
            self.counts["steps"] += len(self.last_steps)


Condition = Callable[[Any], object]
Decorator = Callable[[Callable[..., None]], Callable[..., None]]


def always(_state: RecordedMachine) -> bool:
    return True


def rule(condition: Condition = always, **strategies: Any) -> Decorator:
    """Return a decorator of rules whose steps are recorded; ``condition``: on the machine, for the step to run."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(state: RecordedMachine, *values: Any, **arguments: Any) -> None:
            if condition(state):  # a kept example may have been recorded with other code
                state.run_step(function, *values, **arguments)

        as_rule: Decorator = stateful.rule(**strategies)
        return stateful.precondition(lambda machine: bool(condition(machine)))(as_rule(run))

    return decorate


def initialize(**strategies: Any) -> Decorator:
    """Return a decorator of the rule that begins an example."""

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(function)
        def run(state: RecordedMachine, **arguments: Any) -> None:
            state.run_step(function, **arguments)

        as_first: Decorator = stateful.initialize(**strategies)
        return as_first(run)

    return decorate


def bind(machine: type[RecordedMachine], **attributes: Any) -> type[RecordedMachine]:
    """Return the machine, by the same name, with these attributes, and counts and hits of its own."""
    return type(machine.__name__, (machine,), {**attributes, "last_steps": [], "counts": Counter(), "hits": Counter()})


def run_machine(machine: type[RecordedMachine], examples: int, steps: int, *, shortens: bool = True) -> None:
    """Replay the machine's kept examples, then run new ones of the current seed.

    A new example that fails is shortened and kept: check it in with the mend. ``shortens`` False is for a planted
    mistake: the examples are always the same, and nothing is kept.
    """
    if shortens:
        replay_kept(machine)
    explore(machine, seed.current_seed() if shortens else PLANTED_SEED, examples, steps, shortens=shortens)


def replay_kept(machine: type[RecordedMachine]) -> None:
    """Replay the machine's kept examples."""
    for path, kept_steps in corpus.read(machine):
        try:
            replay(machine, kept_steps)
        except BaseException as failure:
            failure.add_note(f"{corpus.as_text(machine, kept_steps)}\nThis example is kept in {path}")
            raise


def replay(machine: type[RecordedMachine], steps: Sequence[Step]) -> None:
    """Run a machine through the steps; a step whose condition does not hold is left out.

    Pauses have the same random parts in each run, as Hypothesis arranges in its own runs.
    """
    random.seed(0)
    state = machine()
    try:
        for name, arguments in steps:
            assert hasattr(state, name), f"{machine.__name__} has no rule {name}: rename it in the kept example"
            getattr(state, name)(**arguments)
            state.check()
    finally:
        state.teardown()


def explore(machine: type[RecordedMachine], number: int, examples: int, steps: int, *, shortens: bool = True) -> None:
    """Run examples of seed ``number``, each of up to that many steps; the first failure is shortened and kept.

    ``shortens`` False: neither. Hypothesis' own shrinking takes minutes on machines whose steps take milliseconds.
    """
    try:
        run_state_machine_as_test(
            hypothesis.seed(number)(machine),
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                database=None,
                print_blob=False,
                report_multiple_bugs=False,  # so that the last example is the one that is reported
                suppress_health_check=list(HealthCheck),
                phases=(Phase.generate,),
            ),
        )
    except Exception as failure:
        if shortens:
            machine.last_steps = shorten(machine, machine.last_steps, failure)
            failure.add_note(f"{corpus.as_text(machine, machine.last_steps)}\n{_keep(machine, number)}")
        raise


def shorten(machine: type[RecordedMachine], steps: Sequence[Step], failure: Exception) -> list[Step]:
    """Return the steps without those that are not needed for the same kind of failure."""
    rest = list(steps)
    size = len(rest) // 2
    while size:
        start, is_shorter = 1, False  # the first step begins the example
        while start < len(rest):
            fewer = rest[:start] + rest[start + size :]
            if _fails_alike(machine, fewer, failure):
                rest, is_shorter = fewer, True
            else:
                start += size
        if size > 1 or not is_shorter:
            size //= 2
    return rest


def _fails_alike(machine: type[RecordedMachine], steps: Sequence[Step], failure: Exception) -> bool:
    try:
        replay(machine, steps)
    except Exception as other:
        return (type(other), getattr(other, "number", None)) == (type(failure), getattr(failure, "number", None))
    return False


def _keep(machine: type[RecordedMachine], number: int) -> str:
    try:
        where = f"is kept in {corpus.keep(machine, machine.last_steps)}"
    except OSError as why:
        where = f"cannot be kept: {why}"
    return f"This example of seed {number} {where}"
