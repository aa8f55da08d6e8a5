# SPDX-License-Identifier: Apache-2.0
"""Log lines for the progress of boots and deletions."""

import logging
from dataclasses import replace

import prometheus_client
import pytest
from oslo_context import context as oslo_context

from conductor import milestones
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.simulated_cluster import CTXT, SimulatedCluster, uuid_list

WAITING = [InstanceRecord(f"u{number}", "r", InstanceStatus.BUILDING, SagaStep.WAIT) for number in range(3)]


@pytest.fixture
def log_lines(caplog):
    """Return the log lines so far."""
    caplog.set_level(logging.INFO, logger="conductor.milestones")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "conductor.milestones"]


def test_boot_and_deletion_are_logged(log_lines):
    cluster = SimulatedCluster({"h1/n": 4})
    cluster.conductor()
    uuids = uuid_list(3)
    cluster.build(uuids)
    cluster.settle()
    # Each of this cluster's hosts reports one instance at a time.
    assert log_lines() == ["Selected hosts for 3 instances", *["1 instances are ACTIVE"] * 3]
    cluster.delete(uuids)
    cluster.settle()
    assert log_lines()[4:] == ["1 instances are DELETED"] * 3


def test_boot_without_host_is_logged_once_with_reason(log_lines):
    cluster = SimulatedCluster({"h1/n": 1})
    cluster.conductor()
    cluster.build(uuid_list(2))
    cluster.settle()
    (line,) = log_lines()
    assert line.startswith("2 instances are ERROR: No valid host")


def test_log_lines_have_the_request_id(monkeypatch):
    request_ids = []
    monkeypatch.setattr(
        milestones, "report_changes", lambda *_: request_ids.append(oslo_context.get_current().request_id)
    )
    cluster = SimulatedCluster({"h1/n": 4})
    cluster.conductor()
    cluster.build(uuid_list(1))
    cluster.work()
    assert request_ids and set(request_ids) == {CTXT.request_id}


def test_each_reason_is_one_line_and_their_number_is_limited(log_lines):
    count = milestones.MAX_REASONS + 2
    before = [InstanceRecord(f"u{number}", "r", InstanceStatus.BUILDING, SagaStep.WAIT) for number in range(count + 1)]
    reasons = ["no\nroom", *[f"reason {number}" for number in range(count - 1)], "no\nroom"]
    after = [
        replace(record, status=InstanceStatus.ERROR, step=SagaStep.DONE, reason=reason)
        for record, reason in zip(before, reasons, strict=True)
    ]
    milestones.report_changes(before, after, frozenset())
    assert log_lines()[0] == "2 instances are ERROR: no room"
    assert len(log_lines()) == milestones.MAX_REASONS + 1
    assert log_lines()[-1].startswith("2 instances are ERROR for other reasons")


def test_stale_and_unchanged_records_are_not_logged(log_lines):
    active = [replace(record, status=InstanceStatus.ACTIVE, step=SagaStep.DONE) for record in WAITING]
    milestones.report_changes(WAITING, active, {record.uuid for record in WAITING})
    milestones.report_changes(active, [replace(record, reason="again") for record in active], frozenset())
    assert log_lines() == []
    milestones.report_changes(WAITING, active, {"u1"})
    assert log_lines() == ["2 instances are ACTIVE"]


def ended(kind, status):
    labels = {"kind": kind, "status": status}
    return prometheus_client.REGISTRY.get_sample_value("gantt_conductor_migrations_total", labels) or 0


def test_migrations_are_counted_once_when_they_end():
    cluster = SimulatedCluster({"h1/n": 4, "h2/n": 4})
    cluster.conductor()
    first, second, third = uuids = uuid_list(3)
    cluster.build(uuids)
    cluster.settle()
    counts = [("migration", "confirmed"), ("migration", "reverted"), ("evacuation", "completed")]
    before = [ended(*labels) for labels in counts]
    cluster.migrate([first, second])
    cluster.settle()
    assert [ended(*labels) for labels in counts] == before
    cluster.confirm([first])
    cluster.revert([second])
    cluster.settle()
    assert [ended(*labels) - number for labels, number in zip(counts, before, strict=True)] == [1, 1, 0]

    host = cluster.record(third).host.partition("/")[0]
    cluster.lose_host(host)
    cluster.evacuate([third])
    cluster.settle()
    assert [ended(*labels) - number for labels, number in zip(counts, before, strict=True)] == [1, 1, 1]
