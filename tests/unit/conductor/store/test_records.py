# SPDX-License-Identifier: Apache-2.0
"""The records of the conductor's store."""

import pytest

from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep


def test_new_instance_is_to_be_scheduled_at_once() -> None:
    record = InstanceRecord("uuid", "request")
    assert (record.status, record.step, record.wake_ms, record.attempt) == ("SCHEDULING", "select", 0, 1)
    assert (record.host, record.allocations, record.history) == (None, None, ())


@pytest.mark.parametrize(("attempt", "ended"), [(1, True), (2, False), (3, True)])
def test_attempt_has_ended_if_the_history_has_it(attempt: int, ended: bool) -> None:
    record = InstanceRecord("uuid", "request", attempt=4, history=[{"attempt": 1}, {"attempt": 3}])
    assert record.has_ended(attempt) is ended


def test_values_that_are_stored_stay_readable() -> None:
    """Given documents of earlier releases, then each of their values still has its member."""
    for status in ("SCHEDULING", "BUILDING", "ACTIVE", "ERROR", "DELETING", "DELETED"):
        assert InstanceStatus(status) == status
    for step in ("select", "cast", "wait", "alternate", "settle", "abort", "terminate", "done"):
        assert SagaStep(step) == step
