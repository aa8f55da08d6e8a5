# SPDX-License-Identifier: Apache-2.0
"""lab.sh simulate: examples of a seed, rows, and a broken promise with its example and exit code."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from devstack.lab import simulate as lab_simulate
from devstack.lab.simulate import SimulateRun
from rpcapi.cli.command import CommandFailed
from tests.support import asking
from tests.support.simulation import corpus, simulation
from tests.support.simulation.faults import STEPS, Fault
from tests.support.simulation.machines import RecordedMachine, bind, initialize, rule
from tests.support.simulation.simulation import Simulation


class CountMachine(RecordedMachine):
    """A count that must stay below a limit."""

    limit = 1000

    @initialize()
    def begin(self) -> None:
        self.count = 0

    @rule(number=st.integers(0, 9))
    def add(self, number: int) -> None:
        self.count += number

    def check(self) -> None:
        assert getattr(self, "count", 0) < self.limit, "promise 0: the count reached its limit"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(corpus.VARIABLE, str(tmp_path))
    # one round each
    monkeypatch.setattr(SimulateRun, "_run", with_one_round(SimulateRun._run))
    return tmp_path


def with_one_round(run: Any) -> Any:
    return lambda self, simulations, seed, _seconds: run(self, simulations, seed, 0)


def simulate(monkeypatch: pytest.MonkeyPatch, limit: int, *arguments: str) -> tuple[int, str, str]:
    def make(store: str, _folder: Path, _server: Any) -> list[Simulation]:
        return [
            Simulation(f"{name}, {store}", bind(CountMachine, limit=limit), store)
            for name, limit in (("roomy", 1000), ("tight", limit))
        ]

    monkeypatch.setattr(simulation, "make_simulations", make)
    return asking.run("simulate", *arguments)


def test_broken_promise_is_printed_with_its_example(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    code, out, err = simulate(monkeypatch, 4, "--seed", "7", "--through", "memory", "--json")
    assert code == 1
    rows = {row["name"]: row for row in json.loads(out)["rows"]}
    assert {name: row["ratio"] for name, row in rows.items()} == {
        "broken promises: roomy, memory": 0,
        "broken promises: tight, memory": 1,
    }
    assert all(row["seed"] == 7 for row in rows.values())
    assert rows["broken promises: roomy, memory"]["examples"] == simulation.ROUND["memory"]
    assert rows["broken promises: roomy, memory"]["steps"] > simulation.ROUND["memory"]
    (path,) = (folder / "CountMachine").iterdir()
    assert "seed 7: repeat with --seed 7" in err
    assert "tight, memory: AssertionError: promise 0: the count reached its limit" in err
    assert "state = CountMachine()\nstate.begin()\nstate.add(number=" in err
    assert f"is kept in {path}" in err


def test_without_a_broken_promise_it_exits_with_0(monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = simulate(monkeypatch, 1000, "--through", "memory")
    assert code == 0, err
    assert "NO" not in out


def test_hits_of_all_simulations_are_counted_by_fault_and_step(monkeypatch: pytest.MonkeyPatch) -> None:
    def teardown(machine: CountMachine) -> None:
        machine.hits.update({("drought", "select"): 1, ("drought", "cast"): 0, ("flood", "select"): 0})
        RecordedMachine.teardown(machine)

    monkeypatch.setattr(CountMachine, "teardown", teardown)
    for examples, low_steps in ((9, 2), (10, 1)):  # of two machines each
        monkeypatch.setattr(simulation, "ROUND", {"memory": examples})
        _code, out, _err = simulate(monkeypatch, 1000, "--through", "memory", "--json")
        rows = {row["name"]: row for row in json.loads(out)["rows"]}
        drought = rows["saga steps with fewer than 20 hits: drought"]
        assert (drought["ratio"], drought["select"], drought["cast"]) == (low_steps, 2 * examples, 0)
        assert rows["saga steps with fewer than 20 hits: flood"]["ratio"] == 1


def test_real_machines_run_on_each_store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "ROUND", dict.fromkeys(simulation.ROUND, 1))
    monkeypatch.setattr(simulation, "STEPS", 3)
    rows = asking.run_json("simulate", "--seed", "1")
    assert [row["name"] for row in rows[9:]] == [f"saga steps with fewer than 20 hits: {fault}" for fault in Fault]
    assert all(row.keys() >= set(STEPS) for row in rows[9:])
    assert [(row["name"], row["examples"]) for row in rows[:9]] == [
        (f"broken promises: {machine}, {store}", 1)
        for store in ("memory", "redis", "sqlite")
        for machine in ("claims", "moves", "moves across partitions")
    ]


def test_installation_without_tests_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(CommandFailed, match="has none: use a complete checkout"):
        lab_simulate._load(tmp_path)
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    for name in [name for name in sys.modules if name.startswith("tests.support.simulation.")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(CommandFailed, match="need hypothesis: install the dependency group test"):
        lab_simulate._load()
