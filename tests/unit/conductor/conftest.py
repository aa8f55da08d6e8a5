# SPDX-License-Identifier: Apache-2.0
"""Check of the steps that reports set in all tests of the conductor."""

from typing import Any

import pytest

from conductor.reports import intake
from conductor.reports.intake import apply_result
from conductor.saga.steps import STEPS
from conductor.store.records import InstanceRecord

REPORTED = {step.name: (step.name, *step.reported.split()) for step in STEPS}


@pytest.fixture(autouse=True)
def check_reported_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail on a report that sets a step which STEPS does not declare."""

    def checked(instance: InstanceRecord, *arguments: Any) -> InstanceRecord | None:
        changed = apply_result(instance, *arguments)
        if changed is not None and instance.step in REPORTED:
            assert changed.step in REPORTED[instance.step], f"report in step {instance.step} set {changed.step}"
        return changed

    monkeypatch.setattr(intake, "apply_result", checked)
