# SPDX-License-Identifier: Apache-2.0
"""Diverged records and claims: the conductor store lost its last seconds, or an answer was lost."""

from dataclasses import replace

import oslo_messaging as messaging
import pytest

from conductor.store.records import InstanceRecord, SagaStep
from rpcapi.resources.statuses import InstanceStatus
from scheduler_svc.core.records import ClaimRef
from tests.support.conductor.simulated_cluster import SimulatedCluster, migration_of, uuid_list

(UUID,) = uuid_list(1)


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster({"h1/n": 4, "h2/n": 4, "h3/n": 4})
    created.conductor()
    return created


def forget(cluster: SimulatedCluster, **values: object) -> None:
    """Reset a record to an earlier state, like a store that lost its last writes."""
    cluster.store.write_without_lease([replace(cluster.record(UUID), **values)], wake=True)  # type: ignore[arg-type]


def test_attempt_lost_by_the_store_is_resumed(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.build([UUID])
    cluster.settle()
    now = cluster.record(UUID)
    assert (now.attempt, now.host) == (2, "h2/n")
    forget(
        cluster,
        status=InstanceStatus.BUILDING,
        step=SagaStep.ALTERNATE,
        attempt=1,
        host="h1/n",
        alternates=("h2/n", "h3/n"),
    )

    cluster.settle()

    assert (cluster.record(UUID).attempt, cluster.record(UUID).host) == (2, "h2/n")
    cluster.check([UUID])


def test_lost_attempt_is_resumed_by_its_report(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours.update({"h1": "failed", "h2": "mute"})
    cluster.build([UUID])
    cluster.settle(1000)
    forget(
        cluster, status=InstanceStatus.BUILDING, step=SagaStep.WAIT, attempt=1, host="h1/n", history=(), wake_ms=2**50
    )

    cluster.hosts.send_pending_reports()
    cluster.settle()

    assert (cluster.record(UUID).attempt, cluster.record(UUID).host) == (2, "h2/n")
    assert [entry["outcome"] for entry in cluster.record(UUID).history] == ["lost"]
    cluster.check([UUID])


def test_select_lost_by_the_store_with_all_later_writes(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.build([UUID])
    cluster.settle()
    fresh = InstanceRecord(UUID, cluster.record(UUID).request, version=cluster.record(UUID).version)
    cluster.store.write_without_lease([replace(fresh, created_ms=cluster.now_ms)], wake=True)

    cluster.settle()

    assert cluster.record(UUID).status == "ACTIVE"
    assert cluster.record(UUID).host == "h2/n"
    cluster.check([UUID])


def test_unrecorded_ended_attempt_is_skipped(cluster: SimulatedCluster) -> None:
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.build([UUID])
    cluster.work()
    cluster.hosts.deliver()
    cluster.ledger.store.abort([ClaimRef(UUID, 2)])

    cluster.settle()

    record = cluster.record(UUID)
    assert (record.attempt, record.host, record.status) == (3, "h2/n", "ACTIVE")
    assert [entry["outcome"] for entry in record.history] == ["failed", "lost"]
    cluster.check([UUID])


def test_claim_of_ended_attempt_is_released(cluster: SimulatedCluster) -> None:
    cluster.build([UUID])
    cluster.settle()
    ended = {"attempt": 1, "host": "h1/n", "outcome": "failed", "reason": "it said so"}
    forget(cluster, status=InstanceStatus.BUILDING, step=SagaStep.SETTLE, history=[ended], alternates=("h2/n",))

    cluster.settle()

    assert (cluster.record(UUID).attempt, cluster.record(UUID).host) == (3, "h2/n")
    cluster.check([UUID])


def test_host_with_claim_of_ended_attempt_is_requested_to_end_it(cluster: SimulatedCluster) -> None:
    release = cluster.ledger.store.release
    cluster.ledger.store.release = lambda host, refs: []  # type: ignore[method-assign]
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.build([UUID])
    cluster.work()
    cluster.hosts.deliver()
    cluster.ledger.store.release = release  # type: ignore[method-assign]

    cluster.settle()

    assert [kind for kind, host, _ in cluster.hosts.casts if host == "h1"] == ["build", "change"]
    assert (cluster.record(UUID).host, cluster.record(UUID).status) == ("h2/n", "ACTIVE")
    cluster.check([UUID])


def test_select_continues_with_live_claim_of_other_attempt(cluster: SimulatedCluster) -> None:
    other = uuid_list(2)[1]
    cluster.scheduler.lose = [messaging.MessagingTimeout("no answer")]
    cluster.build([UUID, other])
    cluster.work()
    forget(cluster, attempt=2)

    cluster.settle()

    assert cluster.statuses([UUID, other]) == ["ACTIVE"] * 2
    assert cluster.record(UUID).attempt == 1
    cluster.check([UUID, other])


def test_move_whose_end_was_lost_ends_before_the_next_one_is_continued(cluster: SimulatedCluster) -> None:
    # Given a store that lost the end of a move, and a move that followed it
    cluster.build([UUID])
    cluster.settle()
    cluster.migrate([UUID], migrations=[migration_of(UUID, 1)])
    cluster.settle()
    earlier = cluster.record(UUID)
    cluster.confirm([UUID])
    cluster.settle()
    cluster.migrate([UUID], migrations=[migration_of(UUID, 2)])
    cluster.settle()
    later = cluster.record(UUID)
    assert (earlier.host, later.host) == ("h2/n", "h1/n")
    cluster.store.write_without_lease([replace(earlier, version=later.version)], wake=False)

    cluster.compare()
    cluster.settle()

    first, second = (cluster.store.migrations([uuid])[uuid] for uuid in (migration_of(UUID, 1), migration_of(UUID, 2)))
    assert (first.status, second.status) == ("error", "finished")
    assert first.reason == f"its end was lost: migration {second.uuid} followed it"
    record = cluster.record(UUID)
    assert (record.status, record.host, record.attempt) == ("VERIFY_RESIZE", "h1/n", later.attempt)
    cluster.check([UUID])


def test_move_that_an_evacuation_followed_is_not_finished_at_the_evacuated_guest(cluster: SimulatedCluster) -> None:
    # Given a resize that was reverted, and a host lost after it, in a store that forgot both
    cluster.build([UUID])
    cluster.settle()
    cluster.resize([UUID])
    cluster.settle()
    earlier = cluster.record(UUID)
    cluster.revert([UUID])
    cluster.settle()
    cluster.lose_host("h1")
    cluster.compare()
    cluster.settle()
    cluster.evacuate([UUID], series=7)
    cluster.settle()
    evacuated = cluster.record(UUID)
    assert (earlier.status, evacuated.status) == ("VERIFY_RESIZE", "ACTIVE")
    cluster.store.write_without_lease([replace(earlier, version=evacuated.version)], wake=False)

    cluster.compare()
    cluster.settle()

    record = cluster.record(UUID)
    assert (record.status, record.host, record.attempt) == ("ACTIVE", evacuated.host, evacuated.attempt)
    assert (record.flavor or "tiny", record.amounts) == ("tiny", None)
    migration = cluster.store.migrations([migration_of(UUID)])[migration_of(UUID)]
    assert (migration.status, migration.reason) == ("error", f"its end was lost: attempt {record.attempt} followed it")
    cluster.check([UUID])
