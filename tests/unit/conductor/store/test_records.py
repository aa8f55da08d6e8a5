# SPDX-License-Identifier: Apache-2.0
"""The records of the conductor's store."""

import pytest

from conductor.store.records import InstanceRecord, make_lease_token, make_version

MAX_INT64 = 2**63 - 1


def test_new_instance_is_to_be_scheduled_at_once() -> None:
    record = InstanceRecord("uuid", "request")
    assert (record.status, record.step, record.wake_ms, record.attempt) == ("SCHEDULING", "select", 0, 1)
    assert (record.host, record.allocations, record.history) == (None, None, ())


@pytest.mark.parametrize(("attempt", "ended"), [(1, True), (2, False), (3, True)])
def test_attempt_has_ended_if_the_history_has_it(attempt: int, ended: bool) -> None:
    record = InstanceRecord("uuid", "request", attempt=4, history=[{"attempt": 1}, {"attempt": 3}])
    assert record.has_ended(attempt) is ended


def test_token_ends_with_its_owner_and_does_not_repeat() -> None:
    tokens = {make_lease_token("host:7") for _ in range(100)}
    assert len(tokens) == 100
    assert {token.partition(" ")[2] for token in tokens} == {"host:7"}


def test_versions_do_not_repeat_and_fit_64_bits() -> None:
    versions = {make_version() for _ in range(1000)}
    assert len(versions) == 1000
    assert all(0 <= version <= MAX_INT64 for version in versions)
