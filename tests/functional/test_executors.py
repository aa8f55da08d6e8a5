# SPDX-License-Identifier: Apache-2.0
"""A short form of the functional suites on a bus and an executor in turn; `tox -e executors` runs them whole."""

import itertools
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import oslo_messaging as messaging
import pytest

from devstack import exercise, workload
from devstack.cluster_size import ClusterSize, Mode
from devstack.layout import DAEMONS
from rpcapi import objects
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.stride import in_turn

TINY = workload.WorkloadRequest("tiny", {"VCPU": 1, "MEMORY_MB": 64}, 1)
FIVE = workload.WorkloadRequest("tiny", {"VCPU": 1, "MEMORY_MB": 64}, 5)
DRAIN_SECONDS = 45.0


BUSES_AND_EXECUTORS = list(itertools.product(Mode, ("eventlet", "threading")))


@pytest.fixture(scope="module", params=in_turn(BUSES_AND_EXECUTORS), ids="-".join)
def cluster(request: pytest.FixtureRequest) -> Iterator[RunningCluster]:
    """A cluster on one executor."""
    mode, executor = request.param
    shape = ClusterSize(mode=mode, computes=2, nodes_per_host=3, schedulers=2, executor=executor)
    overrides = {"conductor": {"conductor": {"lease": 5, "pump_interval": 0.2, "recast_interval": 2}}}
    with clusters.running_cluster(shape, overrides) as running:
        yield running


@pytest.fixture
def conductor_session(cluster: RunningCluster) -> Iterator[exercise.Session]:
    """A session as the bus's user conductor, the only one that may select."""
    with closing(exercise.Session([str(cluster.cluster.layout.conf("conductor"))])) as session:
        session.new_request()
        yield session


def test_workers_run_on_the_configured_executor(cluster: RunningCluster) -> None:
    """Native threads appear as tasks of the process, green ones do not."""
    most = {
        name: max(
            len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in clusters.workers(cluster.cluster.daemons[name])
        )
        for name in DAEMONS
    }
    expected = cluster.cluster.size.executor == "threading"
    assert {name: count > 5 for name, count in most.items()} == dict.fromkeys(DAEMONS, expected), most


def test_boot_and_delete(cluster: RunningCluster) -> None:
    session = cluster.session
    uuids = exercise.boot(session, [FIVE, TINY])
    instances = truth.assert_consistent(cluster, uuids)
    assert {instance.status for instance in instances} == {"ACTIVE"}
    session.call(session.conductor.delete_instances, uuids)
    truth.until(
        "no claim and no guest is left",
        lambda: not {name for name, _ in [*truth.claims(cluster), *truth.guests(cluster)]} & set(uuids),
    )


def test_stopped_servers_keep_their_claims_and_start_again_after_their_agents_were_killed(
    cluster: RunningCluster,
) -> None:
    # Given stopped servers
    session = cluster.session
    uuids = exercise.boot(session, [FIVE])
    truth.assert_consistent(cluster, uuids)
    session.call(session.conductor.stop_instances, uuids)

    def statuses() -> set[str]:
        return {instance.status for instance in session.call(session.conductor.get_instances, uuids).instances}

    truth.until("all are stopped", lambda: statuses() == {"SHUTOFF"})
    claims = {place for place in truth.claims(cluster) if place[0] in uuids}
    assert len(claims) == 5
    # When their agents are killed, and others take over
    cluster.cluster.daemons["compute"].kill_group()
    cluster.cluster.start_daemon("compute")
    # Then they stay stopped, under their claims, until they are started
    session.call(session.conductor.stop_instances, uuids)
    assert statuses() == {"SHUTOFF"}
    assert {place for place in truth.claims(cluster) if place[0] in uuids} == claims
    session.call(session.conductor.start_instances, uuids)
    truth.until("all run", lambda: statuses() == {"ACTIVE"})
    truth.assert_consistent(cluster, uuids)
    # When they are rebooted and rebuilt while their agents are away, then each request ends where it began
    for request in (session.conductor.reboot_instances, session.conductor.rebuild_instances):
        cluster.cluster.daemons["compute"].kill_group()
        session.call(request, uuids)
        assert not statuses() & {"ACTIVE", "ERROR"}
        cluster.cluster.start_daemon("compute")
        truth.until("all run", lambda: statuses() == {"ACTIVE"})
        assert {place for place in truth.claims(cluster) if place[0] in uuids} == claims
    # When they are shelved, then their claims are released, until they are unshelved
    session.call(session.conductor.shelve_instances, uuids)
    truth.until("all are offloaded", lambda: statuses() == {"SHELVED_OFFLOADED"})
    assert not [place for place in truth.claims(cluster) if place[0] in uuids]
    session.call(session.conductor.unshelve_instances, uuids)
    truth.until("all run", lambda: statuses() == {"ACTIVE"})
    truth.assert_consistent(cluster, uuids)
    session.call(session.conductor.stop_instances, uuids)
    session.call(session.conductor.delete_instances, uuids)
    truth.until(
        "no claim and no guest is left",
        lambda: not {name for name, _ in [*truth.claims(cluster), *truth.guests(cluster)]} & set(uuids),
    )


def test_moved_servers_are_confirmed_and_reverted_while_agents_are_killed(cluster: RunningCluster) -> None:
    # Given servers that run, and one that is stopped
    session = cluster.session
    uuids = exercise.boot(session, [FIVE])
    truth.assert_consistent(cluster, uuids)
    session.call(session.conductor.stop_instances, uuids[:1])
    before = {
        instance.uuid: instance.host for instance in session.call(session.conductor.get_instances, uuids).instances
    }

    def instances() -> dict[str, objects.Instance]:
        return {item.uuid: item for item in session.call(session.conductor.get_instances, uuids).instances}

    def statuses() -> set[str]:
        return {instance.status for instance in instances().values()}

    truth.until("one is stopped", lambda: instances()[uuids[0]].status == "SHUTOFF")
    # When they are migrated and resized, and all agents are killed meanwhile
    migrations = [str(uuid.uuid4()) for _ in uuids]
    session.call(session.conductor.migrate_instances, uuids[:3], migrations[:3])
    larger = objects.RequestSpec.of(flavor="larger", resources={"VCPU": 2, "MEMORY_MB": 128})
    session.call(session.conductor.resize_instances, uuids[3:], migrations[3:], larger)
    cluster.cluster.daemons["compute"].kill_group()
    cluster.cluster.start_daemon("compute")
    truth.until("all are at their destinations", lambda: statuses() == {"VERIFY_RESIZE"})
    # Then each has a claim at both ends, and a guest that is off at its source
    sources = truth.sources(cluster)
    assert [sources[migration] for migration in migrations] == [before[uuid_] for uuid_ in uuids]
    at_both_ends = {*before.items(), *((uuid_, item.host) for uuid_, item in instances().items())}
    assert {place for place in truth.claims(cluster) if place[0] in uuids} == at_both_ends
    assert all(instances()[uuid_].host != before[uuid_] for uuid_ in uuids[:3])
    # When they are confirmed and reverted, and all agents are killed again
    session.call(session.conductor.confirm_migrations, migrations[:2])
    session.call(session.conductor.confirm_migrations, migrations[3:4])
    session.call(session.conductor.revert_migrations, [migrations[2], migrations[4]])
    cluster.cluster.daemons["compute"].kill_group()
    cluster.cluster.start_daemon("compute")
    truth.until("all have ended their moves", lambda: statuses() == {"ACTIVE", "SHUTOFF"})
    # Then each has one claim and one guest
    after = instances()
    assert [after[uuid_].status for uuid_ in uuids] == ["SHUTOFF"] + ["ACTIVE"] * 4
    assert all(after[uuid_].host == before[uuid_] for uuid_ in (uuids[2], uuids[4]))
    assert [after[uuid_].flavor for uuid_ in uuids[3:]] == ["larger", "tiny"]
    ended = session.call(session.conductor.get_migrations, migrations).migrations
    assert [item.status for item in ended] == ["confirmed", "confirmed", "reverted", "confirmed", "reverted"]
    truth.until("no claim is a source", lambda: not truth.sources(cluster).keys() & set(migrations))
    session.call(session.conductor.start_instances, uuids[:1])
    truth.until("all run", lambda: statuses() == {"ACTIVE"})
    truth.assert_consistent(cluster, uuids)
    session.call(session.conductor.delete_instances, uuids)
    truth.until(
        "no claim and no guest is left",
        lambda: not {name for name, _ in [*truth.claims(cluster), *truth.guests(cluster)]} & set(uuids),
    )


def test_call_past_its_deadline_claims_nothing(cluster: RunningCluster, conductor_session: exercise.Session) -> None:
    """The bus or the worker drops it; a claim would stay until its own deadline, a minute later."""
    # Given suspended workers, and a call that waits for them until its deadline
    late_uuid = str(uuid.uuid4())
    pids = clusters.workers(cluster.cluster.daemons["scheduler"])
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        ctxt = conductor_session.ctxt.with_timeout(1)
        with pytest.raises(messaging.MessagingTimeout):
            conductor_session.scheduler.select_destinations(ctxt, TINY.spec(), [late_uuid])
    finally:
        # When they go on
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    # Then the calls after it are served, and it has claimed nothing
    truth.assert_consistent(cluster, exercise.boot(cluster.session, [FIVE]))
    assert late_uuid not in {consumer for consumer, _ in truth.claims(cluster)}


def test_killed_worker_is_replaced_and_loses_no_boot(cluster: RunningCluster) -> None:
    daemons = cluster.cluster.daemons
    for name in DAEMONS:
        before = clusters.workers(daemons[name])
        uuids = exercise.boot(cluster.session, [FIVE])
        os.kill(before[0], signal.SIGKILL)
        instances = truth.assert_consistent(cluster, uuids)
        assert {instance.status for instance in instances} == {"ACTIVE"}, [instance.reason for instance in instances]
        truth.until(
            f"{name} has a new worker",
            lambda name=name, before=before: (
                before[0] not in (after := clusters.workers(daemons[name])) and len(after) == len(before)
            ),
        )


def test_draining_worker_loses_no_call(cluster: RunningCluster, conductor_session: exercise.Session) -> None:
    # Given calls in flight to two workers
    answers: list[object] = []
    ctxt = conductor_session.ctxt.with_timeout(60)

    def select() -> None:
        answers.append(conductor_session.scheduler.select_destinations(ctxt, TINY.spec(), [str(uuid.uuid4())]))

    callers = [threading.Thread(target=select) for _ in range(8)]
    for caller in callers:
        caller.start()
    # When one of them drains, then all calls are answered
    os.kill(clusters.workers(cluster.cluster.daemons["scheduler"])[0], signal.SIGTERM)
    for caller in callers:
        caller.join(90)
    assert len(answers) == len(callers)


def test_daemons_drain_and_lose_no_boot(cluster: RunningCluster) -> None:
    # Given boots that have begun
    uuids = exercise.boot(cluster.session, [FIVE, TINY])
    daemons = cluster.cluster.daemons
    for name in DAEMONS:
        log = cluster.cluster.layout.log_file(name)
        # When a daemon is stopped, then its workers drain in time, without an error
        daemons[name].signal(signal.SIGTERM)
        assert daemons[name].wait_exit(DRAIN_SECONDS), f"{name} did not end"
        text = log.read_text()
        assert "did not drain" not in text
        assert "Traceback" not in text, text[text.index("Traceback") - 500 :]
        cluster.cluster.start_daemon(name)
    # And after its restart the boots end
    truth.assert_consistent(cluster, uuids)
