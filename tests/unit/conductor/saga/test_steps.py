# SPDX-License-Identifier: Apache-2.0
"""Declared steps of the saga: their words, their refusal, and the tables of docs/architecture.md."""

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from conductor.saga import saga
from conductor.saga.step_context import StepContext
from conductor.saga.steps import STEPS, Step
from conductor.saga.transitions import set_step
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.scheduler import SchedulerAPI
from tests.support.conductor.simulated_cluster import SimulatedCluster, StrictSaga, uuid_list

PAGE = (Path(__file__).parents[4] / "docs" / "architecture.md").read_text()
DECLARED = {step.name.value: {*step.following.split(), *step.reported.split()} for step in STEPS}


def test_every_step_but_the_last_is_declared_once() -> None:
    assert sorted([*(step.name for step in STEPS), SagaStep.DONE]) == sorted(SagaStep)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name.value)
def test_declared_words_exist(step: Step) -> None:
    assert DECLARED[step.name.value] <= set(SagaStep)
    for method in step.calls.split():
        assert any(hasattr(client, method) for client in (ClaimsAPI, ComputeAPI, SchedulerAPI)), method


def test_undeclared_step_is_retried_and_holds_up_no_other_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, sound = uuid_list(2)

    def skip_cast(_context: StepContext, instances: Sequence[InstanceRecord]) -> list[InstanceRecord]:
        steps = {broken: SagaStep.VERIFY, sound: SagaStep.WAIT}
        return [set_step(instance, steps[instance.uuid]) for instance in instances]

    planted = [step._replace(run=skip_cast) if step.name == SagaStep.CAST else step for step in STEPS]
    monkeypatch.setattr(saga, "STEPS", planted)
    monkeypatch.setattr(StrictSaga, "_postpone_undeclared", saga.BuildSaga._postpone_undeclared)
    cluster = SimulatedCluster({"h1/n": 4})
    cluster.conductor()
    cluster.build([broken, sound])
    cluster.work()
    assert cluster.record(sound).step in (SagaStep.WAIT, SagaStep.DONE)
    record = cluster.record(broken)
    assert (record.step, record.reason) == (SagaStep.CAST, "internal error: step verify must not follow cast")
    assert record.tries == 1 and record.wake_ms > cluster.now_ms


def test_page_shows_the_declared_steps() -> None:
    def words(cell: str) -> str:
        return " ".join(cell.replace("`", "").replace("none: a timer", "").split(", ")).strip()

    rows = re.findall(r"^\| (\w+) \| (.*) \| (.*) \| (.*) \|$", _section("| step | calls |"), re.MULTILINE)
    shown = [(name, words(calls), words(following), words(reported)) for name, calls, following, reported in rows[1:]]
    assert shown == [(step.name.value, step.calls, step.following, step.reported) for step in STEPS]


def test_paths_on_the_page_are_declared() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([a-z_, ]+) \|$", _section("| operation | path |"), re.MULTILINE)
    paths = {operation: path.split(", ") for operation, path in rows if path != "path"}
    assert {step for path in paths.values() for step in path} == {*SagaStep} - {SagaStep.SETTLE}
    for operation, path in paths.items():
        for step, following in pairwise(path):
            assert following in DECLARED[step], f"{operation}: {step}, {following}"


def _section(header: str) -> str:
    return PAGE[PAGE.index(header) :].partition("\n\n")[0]
