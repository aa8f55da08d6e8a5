# SPDX-License-Identifier: Apache-2.0
"""Declared steps of the saga: their calls, their refusal, and the tables of docs/architecture.md."""

import contextlib
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from conductor.requests.deletion import delete
from conductor.requests.moves import Move, begin, confirm, revert
from conductor.requests.operations import mark
from conductor.requests.power import start, stop
from conductor.requests.shelving import offload, shelve, unshelve
from conductor.saga import saga
from conductor.saga.step_context import StepContext
from conductor.saga.steps import REPORTED_WHEN_DONE, STEPS, Step
from conductor.saga.transitions import set_step
from conductor.store.migrations import MigrationRecord
from conductor.store.records import BuildRequestRecord, InstanceRecord, SagaStep
from rpcapi import errors
from rpcapi.clients.claims import ClaimsAPI
from rpcapi.clients.compute import ComputeAPI
from rpcapi.clients.scheduler import SchedulerAPI
from rpcapi.resources.statuses import InstanceStatus, MigrationKind, MigrationStatus
from tests.support.conductor.simulated_cluster import SPEC, SimulatedCluster, StrictSaga, uuid_list
from tests.support.conductor.step_tables import REQUESTS, rows_of, words

DECLARED = {step.name.value: {*step.following, *step.reported} for step in STEPS}
REQUEST = BuildRequestRecord("r", "req-1", "p", "u", SPEC.flavor, SPEC.obj_to_primitive())
FINISHED = MigrationRecord("m", "i", MigrationKind.MIGRATION, MigrationStatus.FINISHED)
CHANGES: dict[str, Callable[[InstanceRecord], InstanceRecord | None]] = {
    "delete_instances": delete,
    "stop_instances": stop,
    "start_instances": start,
    "reboot_instances": lambda record: mark(record, InstanceStatus.HARD_REBOOT, 1),
    "rebuild_instances": lambda record: mark(record, InstanceStatus.REBUILD, 1),
    "shelve_instances": shelve,
    "offload_instances": offload,
    "unshelve_instances": unshelve,
    "migrate_instances": lambda record: begin(record, REQUEST, "n", Move("req-2", None, allow_cross_cell=False), "p"),
    "confirm_migrations": lambda record: confirm(record, FINISHED),
    "revert_migrations": lambda record: revert(record, FINISHED),
}


def test_every_step_but_the_last_is_declared_once() -> None:
    assert sorted([*(step.name for step in STEPS), SagaStep.DONE]) == sorted(SagaStep)


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.name.value)
def test_declared_calls_exist(step: Step) -> None:
    for method in step.calls:
        assert any(hasattr(client, method) for client in (ClaimsAPI, ComputeAPI, SchedulerAPI)), method


def test_simulation_refuses_undeclared_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    planted = [step._replace(calls=()) if step.name == SagaStep.CAST else step for step in STEPS]
    monkeypatch.setattr(saga, "STEPS", planted)
    cluster = SimulatedCluster({"h1/n": 4})
    cluster.conductor()
    cluster.build(uuid_list(1))
    with pytest.raises(AssertionError, match="called by cast: build_instances"):
        cluster.settle()


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
    shown = [
        (name, [] if calls.startswith("none:") else words(calls), words(following), words(reported))
        for name, calls, following, reported in rows_of("| step | calls |")
    ]
    declared = [(step.name.value, [*step.calls], [*step.following], [*step.reported]) for step in STEPS]
    assert shown == [*declared, ("done", [], [], [*REPORTED_WHEN_DONE])]


@pytest.mark.parametrize("method", CHANGES)
def test_page_shows_the_statuses_of_each_request(method: str) -> None:
    changed = set()
    for status in InstanceStatus:
        record = InstanceRecord("i", "r", status, SagaStep.DONE, attempt=1, host="h1/n", migration=FINISHED)
        with contextlib.suppress(errors.InstanceConflict):
            if CHANGES[method](record) is not None:
                changed.add(status)
    assert changed == REQUESTS[method][0]


def test_paths_on_the_page_are_declared() -> None:
    paths = {operation: words(path) for operation, path in rows_of("| operation | path |")}
    assert {step for path in paths.values() for step in path} == {*SagaStep} - {SagaStep.SETTLE}
    for operation, path in paths.items():
        for step, following in pairwise(path):
            assert following in DECLARED[step], f"{operation}: {step}, {following}"
