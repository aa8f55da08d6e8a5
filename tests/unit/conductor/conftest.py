# SPDX-License-Identifier: Apache-2.0
"""Check of the steps that reports, comparisons and requests set in all tests of the conductor."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from conductor.collaborators import Conductor
from conductor.reconciliation.reconciler import RecordReconciler
from conductor.reports import intake
from conductor.requests import requested_changes
from conductor.saga.steps import REPORTED_WHEN_DONE, STEPS
from conductor.store.records import InstanceRecord, SagaStep
from tests.support.conductor.step_tables import REQUESTS

Change = Callable[[InstanceRecord], InstanceRecord | None]
REPORTED = {step.name: step.reported for step in STEPS} | {SagaStep.DONE: REPORTED_WHEN_DONE}


@pytest.fixture(autouse=True)
def check_declared_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on a report, comparison or request that sets an undeclared step."""
    apply_result, write, apply = intake.apply_result, RecordReconciler._write, requested_changes.apply

    def apply_checked_result(instance: InstanceRecord, *arguments: Any) -> InstanceRecord | None:
        changed = apply_result(instance, *arguments)
        if changed is not None:
            _check_reported(instance, changed)
        return changed

    def write_checked(
        self: RecordReconciler, instances: Sequence[InstanceRecord], updates: Sequence[InstanceRecord]
    ) -> None:
        former = {instance.uuid: instance for instance in instances}
        for update in updates:
            _check_reported(former[update.uuid], update)
        write(self, instances, updates)

    def apply_checked(
        conductor: Conductor, uuids: Sequence[str], change: Change, method: str, *project: Any, **limits: Any
    ) -> None:
        def checked(instance: InstanceRecord) -> InstanceRecord | None:
            changed = change(instance)
            if changed is not None and method in REQUESTS:
                statuses, steps = REQUESTS[method]
                assert instance.status in statuses, f"{method} changed an instance in {instance.status}"
                assert changed.step in (instance.step, *steps), f"{method} set {changed.step}"
            return changed

        apply(conductor, uuids, checked, method, *project, **limits)

    monkeypatch.setattr(intake, "apply_result", apply_checked_result)
    monkeypatch.setattr(RecordReconciler, "_write", write_checked)
    monkeypatch.setattr(requested_changes, "apply", apply_checked)


def _check_reported(instance: InstanceRecord, changed: InstanceRecord) -> None:
    declared = (instance.step, *REPORTED[instance.step])
    assert changed.step in declared, f"a report or comparison in step {instance.step} set {changed.step}"
