# SPDX-License-Identifier: Apache-2.0
"""Transitions of an instance's record."""

from dataclasses import replace

import pytest

from conductor.saga.transitions import assign_host, describe_attempts, end_attempt, finish, set_step
from conductor.store.records import SagaStep
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.step_contexts import instance

WAITING = instance(step=SagaStep.WAIT, wake_ms=500, tries=3, since_ms=100, host="h/n", attempt=2, reason="old")


def test_new_step_is_due_at_once_with_no_retries() -> None:
    changed = set_step(WAITING, SagaStep.ALTERNATE)
    assert (changed.step, changed.wake_ms, changed.tries, changed.since_ms) == ("alternate", 0, 0, 0)
    assert replace(changed, step=WAITING.step, wake_ms=500, tries=3, since_ms=100) == WAITING


def test_new_step_may_be_due_later() -> None:
    assert set_step(WAITING, SagaStep.WAIT, wake_ms=900).wake_ms == 900


def test_finished_instance_has_no_step() -> None:
    changed = finish(WAITING, InstanceStatus.ERROR, reason="new")
    assert (changed.status, changed.step, changed.reason) == ("ERROR", "done", "new")


def test_assigned_host_starts_a_build_without_traces_of_the_last_attempt() -> None:
    changed = assign_host(replace(WAITING, asked=True), 3, "g/n", ["x", "y"], allocations={"g/n": {"VCPU": 1}}, epoch=7)
    assert (changed.status, changed.step, changed.attempt, changed.host) == ("BUILDING", "cast", 3, "g/n")
    assert (changed.alternates, changed.allocations, changed.epoch) == (("x", "y"), {"g/n": {"VCPU": 1}}, 7)
    assert (changed.asked, changed.reason) == (False, None)


def test_end_of_an_attempt_is_recorded_once() -> None:
    ended = end_attempt(WAITING, "failed", "it broke")
    assert ended.history == [{"attempt": 2, "host": "h/n", "outcome": "failed", "reason": "it broke"}]
    assert end_attempt(ended, "timeout", "late") is ended
    again = end_attempt(replace(ended, attempt=3, host="g/n"), "refused", "full")
    assert [entry["attempt"] for entry in again.history] == [2, 3]


@pytest.mark.parametrize(
    ("history", "text"),
    [
        ([], "no attempt was made"),
        (
            [
                {"attempt": 1, "host": "h/n", "outcome": "failed", "reason": "x"},
                {"attempt": 2, "host": "g/n", "outcome": "timeout", "reason": "y"},
            ],
            "attempt 1 on h/n failed: x; attempt 2 on g/n timeout: y",
        ),
    ],
)
def test_attempts_are_described_in_order(history: list[dict[str, object]], text: str) -> None:
    assert describe_attempts(instance(history=history)) == text
