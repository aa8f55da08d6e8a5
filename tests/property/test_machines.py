# SPDX-License-Identifier: Apache-2.0
"""Failing examples are repeatable, minimal, kept, and replayed before new ones."""

import json
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import strategies as st

from tests.support import seed
from tests.support.simulation import corpus, machines
from tests.support.simulation.machines import RecordedMachine, bind, initialize, rule


class SumMachine(RecordedMachine):
    """A sum that must stay below a limit; every example's numbers are noted."""

    limit: ClassVar[int] = 1000
    drawn: ClassVar[list[int]]

    @initialize()
    def begin(self) -> None:
        self.sum = 0

    @rule(number=st.integers(0, 9))
    def add(self, number: int) -> None:
        self.drawn.append(number)
        self.sum += number

    @rule(lambda self: self.sum > 0)
    def add_twice(self) -> None:
        self.add(number=2)
        self.add(number=2)

    def check(self) -> None:
        assert getattr(self, "sum", 0) < self.limit, "the sum reached its limit"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(corpus.VARIABLE, str(tmp_path))
    return tmp_path / "SumMachine"


def drawn(number: int) -> list[int]:
    machine = bind(SumMachine, drawn=[])
    machines.explore(machine, number, 5, 10)
    return machine.drawn


def test_a_seed_repeats_its_examples() -> None:
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_seed_of_the_environment_or_of_the_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(seed.VARIABLE, "17")
    seed.current_seed.cache_clear()
    assert seed.describe() == "examples: GANTT_TEST_SEED=17"
    monkeypatch.delenv(seed.VARIABLE)
    monkeypatch.setattr("devstack.lab.saved_runs.present_commit", lambda: "0000001f9a+")
    seed.current_seed.cache_clear()
    assert seed.current_seed() == 31
    monkeypatch.setattr("devstack.lab.saved_runs.present_commit", lambda: "unknown")
    seed.current_seed.cache_clear()
    assert seed.current_seed() == 0
    seed.current_seed.cache_clear()


def test_examples_and_steps_are_counted() -> None:
    machine = bind(SumMachine, drawn=[])
    machines.explore(machine, 1, 5, 10)
    assert machine.counts["examples"] == 5
    machine = bind(SumMachine, drawn=[])
    # A rule that another one calls is no step of its own.
    machines.replay(machine, [("begin", {}), ("add", {"number": 1}), ("add_twice", {})])
    assert machine.counts == {"examples": 1, "steps": 3}
    assert machine.drawn == [1, 2, 2]


def test_failing_example_is_kept_and_replayed_first(folder: Path) -> None:
    # Given a machine whose promise breaks
    machine = bind(SumMachine, drawn=[], limit=4)
    with pytest.raises(AssertionError, match="limit") as caught:
        machines.run_machine(machine, 100, 10)
    # then its minimal example is kept, and named: no step of it can be left out
    (path,) = folder.iterdir()
    steps = json.loads(path.read_text())
    assert steps[0] == ["begin", {}]
    kept_steps = [tuple(step) for step in steps]
    for number in range(1, len(kept_steps)):
        machines.replay(bind(SumMachine, drawn=[], limit=4), [*kept_steps[:number], *kept_steps[number + 1 :]])
    note = caught.value.__notes__[-1]
    assert note.endswith(f"state.teardown()\nThis example of seed {seed.current_seed()} is kept in {path}")
    # and when the machine runs again it is the only example
    machine = bind(SumMachine, drawn=[], limit=4)
    with pytest.raises(AssertionError, match="limit") as caught:
        machines.run_machine(machine, 100, 10)
    assert len(machine.drawn) < 4
    assert f"{corpus.as_text(machine, steps)}\nThis example is kept in {path}" in caught.value.__notes__


def test_kept_steps_whose_condition_fails_are_left_out() -> None:
    machine = bind(SumMachine, drawn=[])
    machines.replay(machine, [("begin", {}), ("add_twice", {}), ("add", {"number": 3}), ("add_twice", {})])
    assert machine.drawn == [3, 2, 2]


def test_kept_step_of_an_unknown_rule_is_refused() -> None:
    with pytest.raises(AssertionError, match="SumMachine has no rule subtract: rename it"):
        machines.replay(bind(SumMachine, drawn=[]), [("begin", {}), ("subtract", {})])


def test_planted_mistake_keeps_nothing(folder: Path) -> None:
    with pytest.raises(AssertionError, match="limit"):
        machines.run_machine(bind(SumMachine, drawn=[], limit=4), 100, 10, shortens=False)
    assert not folder.exists()
