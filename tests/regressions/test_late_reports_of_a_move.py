# SPDX-License-Identifier: Apache-2.0
"""Regression: a late report of an earlier state of a guest was taken for the report that its move waited for.

A claim keeps its identity during a move. A report says which message about a move the agent has followed: one from
before the request neither starts a destination nor changes the record of a guest that has returned.
"""

from dataclasses import replace

import pytest

from conductor.reports import intake
from conductor.reports.intake import BuildResult, apply_result
from conductor.saga.moves import begin_move, select_next
from conductor.store.migrations import MigrationRecord
from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus, MigrationKind
from scheduler_svc.core.records import ClaimRef
from tests.support.conductor.simulated_cluster import CTXT, THREE, SimulatedCluster, migration_of, uuid_list

(UUID,) = uuid_list(1)
SOURCE = ClaimRef(UUID, 1)
MINUTE_MS = 60_000


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with one instance, on h1."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build([UUID])
    created.settle()
    return created


def test_late_report_of_a_stop_builds_no_destination_while_the_source_runs(cluster: SimulatedCluster) -> None:
    cluster.stop([UUID])
    cluster.settle()
    late = cluster.hosts.make_report("h1", SOURCE, "stopped")
    cluster.start([UUID])
    cluster.settle()
    # When the instance moves, and the message to stop its source is lost
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.migrate([UUID])
    cluster.work()
    assert cluster.record(UUID).step == SagaStep.STOP_SOURCE
    intake.record(cluster.conductors[0], CTXT, late)
    cluster.settle(MINUTE_MS)
    assert cluster.hosts.running_guests_of(UUID) == [SOURCE]
    assert cluster.record(UUID).step == SagaStep.STOP_SOURCE
    # Then it goes on once the source has got the message
    del cluster.hosts.behaviours["h1"]
    cluster.settle()
    assert cluster.statuses([UUID]) == ["VERIFY_RESIZE"]
    cluster.check([UUID])


@pytest.mark.parametrize(("kind", "status"), [("stopped", "REVERT_RESIZE"), ("active", "REVERT_RESIZE")])
def test_late_report_neither_ends_nor_undoes_a_return(cluster: SimulatedCluster, kind: str, status: str) -> None:
    cluster.migrate([UUID])
    cluster.settle()
    late = cluster.hosts.make_report("h1", SOURCE, kind)
    cluster.revert([UUID])
    while cluster.record(UUID).step != SagaStep.RESUME:
        assert cluster.work() or cluster.hosts.deliver()
    cluster.hosts.queue.clear()
    intake.record(cluster.conductors[0], CTXT, late)
    assert (cluster.record(UUID).status, cluster.record(UUID).step) == (status, SagaStep.RESUME)
    cluster.settle()
    before = cluster.record(UUID)
    assert (before.status, before.host) == ("ACTIVE", "h1/n")
    intake.record(cluster.conductors[0], CTXT, late)
    assert cluster.record(UUID) == before
    cluster.check([UUID])


def test_source_that_followed_a_lost_move_returns_and_can_be_moved_again(cluster: SimulatedCluster) -> None:
    """Given a source that ignores messages below the number of a move, of which every store has lost all traces."""
    cluster.hosts.transitions[SOURCE] = 9
    cluster.migrate([UUID])
    cluster.settle()
    assert cluster.statuses([UUID]) == ["ACTIVE"]
    assert cluster.migration(UUID).reason == (
        "its source had followed a later move, whose record was lost: repeat the move"
    )
    cluster.check([UUID])
    cluster.migrate([UUID], migrations=[migration_of(UUID, 2)])
    cluster.settle()
    assert cluster.statuses([UUID]) == ["VERIFY_RESIZE"] and cluster.record(UUID).attempt > 9
    cluster.check([UUID])


def test_live_migration_from_such_a_source_is_given_up() -> None:
    active = InstanceRecord("u", "r", InstanceStatus.ACTIVE, SagaStep.DONE, host="h1/n")
    moving = select_next(begin_move(active, MigrationRecord("m", "u", MigrationKind.LIVE, source_host="h1/n")))
    copying = replace(moving, step=SagaStep.COPY, host="h2/n")
    changed = apply_result(copying, BuildResult("u", 1, "active", "", "h1", transition=9))
    assert changed is not None and changed.open_migration is not None
    assert (changed.step, changed.move.status, changed.next_attempt) == (SagaStep.TERMINATE, "reverting", 10)
    assert apply_result(copying, BuildResult("u", 1, "active", "", "h1", transition=2)) is None


def test_attempts_after_a_return_follow_the_highest_one(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours |= {"h2": "failed", "h3": "failed"}
    cluster.migrate([UUID])
    cluster.settle()
    assert (cluster.record(UUID).attempt, cluster.record(UUID).host) == (1, "h1/n")
    highest = cluster.record(UUID).next_attempt - 1
    assert highest >= 3
    cluster.hosts.behaviours.clear()
    cluster.migrate([UUID], migrations=[migration_of(UUID, 2)])
    cluster.settle()
    assert cluster.record(UUID).attempt == highest + 1
    cluster.check([UUID])
