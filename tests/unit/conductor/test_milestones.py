# SPDX-License-Identifier: Apache-2.0
"""A boot can be followed in the conductor's log."""

import logging
from dataclasses import replace

import pytest
from oslo_context import context as oslo_context

from conductor import milestones
from conductor.store.records import InstanceRecord, InstanceStatus, SagaStep
from tests.unit.conductor.saga.world import CTXT, World, uuid_list

WAITING = [InstanceRecord(f"u{number}", "r", InstanceStatus.BUILDING, SagaStep.WAIT) for number in range(3)]


@pytest.fixture
def told(caplog):
    """Return the lines that were told so far."""
    caplog.set_level(logging.INFO, logger="conductor.milestones")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "conductor.milestones"]


def test_a_boot_and_a_deletion_are_told_from_beginning_to_end(told):
    world = World({"h1/n": 4})
    world.conductor()
    uuids = uuid_list(3)
    world.build(uuids)
    world.settle()
    # Each of this world's hosts reports one instance at a time.
    assert told() == ["Selected hosts for 3 instances", *["1 instances are ACTIVE"] * 3]
    world.delete(uuids)
    world.settle()
    assert told()[4:] == ["1 instances are DELETED"] * 3


def test_a_boot_that_finds_no_host_is_told_once_with_its_reason(told):
    world = World({"h1/n": 1})
    world.conductor()
    world.build(uuid_list(2))
    world.settle()
    (line,) = told()
    assert line.startswith("2 instances are ERROR: No valid host")


def test_the_lines_carry_the_requests_own_id(monkeypatch):
    seen = []
    monkeypatch.setattr(milestones, "log_changes", lambda *_: seen.append(oslo_context.get_current().request_id))
    world = World({"h1/n": 4})
    world.conductor()
    world.build(uuid_list(1))
    world.work()
    assert seen and set(seen) == {CTXT.request_id}


def test_each_reason_is_one_line_and_many_are_cut(told):
    count = milestones.MAX_REASONS + 2
    before = [InstanceRecord(f"u{number}", "r", InstanceStatus.BUILDING, SagaStep.WAIT) for number in range(count + 1)]
    reasons = ["no\nroom", *[f"reason {number}" for number in range(count - 1)], "no\nroom"]
    after = [
        replace(each, status=InstanceStatus.ERROR, step=SagaStep.DONE, reason=reason)
        for each, reason in zip(before, reasons, strict=True)
    ]
    milestones.log_changes(before, after, frozenset())
    assert told()[0] == "2 instances are ERROR: no room"
    assert len(told()) == milestones.MAX_REASONS + 1
    assert told()[-1].startswith("2 instances are ERROR for other reasons")


def test_what_was_not_written_and_what_is_not_new_is_no_news(told):
    active = [replace(each, status=InstanceStatus.ACTIVE, step=SagaStep.DONE) for each in WAITING]
    milestones.log_changes(WAITING, active, {each.uuid for each in WAITING})
    milestones.log_changes(active, [replace(each, reason="again") for each in active], frozenset())
    assert told() == []
    milestones.log_changes(WAITING, active, {"u1"})
    assert told() == ["2 instances are ACTIVE"]
