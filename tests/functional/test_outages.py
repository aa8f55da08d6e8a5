# SPDX-License-Identifier: Apache-2.0
"""Outages of bus and store, at start and during builds; reload and drain: nothing is lost, daemons recover."""

import os
import signal
import threading
import uuid
from collections.abc import Iterator

import oslo_messaging as messaging
import pytest

from devstack import exercise, workload
from devstack.cluster import DevstackCluster
from devstack.cluster_size import ClusterSize, Mode
from devstack.layout import DAEMONS
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from rpcapi import errors
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.support.run_folders import claim_folder, release_folder

TINY = workload.WorkloadRequest("tiny", {"VCPU": 1, "MEMORY_MB": 64}, 1)
FOUR = workload.WorkloadRequest("tiny", {"VCPU": 1, "MEMORY_MB": 64}, 4)
FAST_TIMERS = {
    "scheduler": {"store": {"reap_interval": 0.5}},
    "conductor": {
        "rpc": {"call_timeout": 5, "call_monitor_timeout": 5},
        "conductor": {"lease": 5, "pump_interval": 0.2, "recast_interval": 2},
    },
    "compute": {"compute": {"call_timeout": 3, "retry_interval_max": 0.5, "report_interval": 1}},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(ClusterSize(computes=2, nodes_per_host=3), FAST_TIMERS) as running:
        yield running


@pytest.fixture(autouse=True)
def same_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Assert that an outage does not restart the daemons of the shared cluster."""
    if "cluster" not in request.fixturenames:
        yield
        return
    daemons = request.getfixturevalue("cluster").cluster.daemons
    before = {name: daemon.pid for name, daemon in daemons.items()}
    yield
    assert {name: daemon.pid for name, daemon in daemons.items()} == before


def boot_server(running: RunningCluster) -> str:
    (server_uuid,) = exercise.boot(running.session, [TINY])
    (instance,) = truth.assert_consistent(running, [server_uuid])
    assert instance.status == "ACTIVE", instance.reason
    return server_uuid


def test_daemons_wait_for_unavailable_bus_and_store():
    # Given daemons without a running bus and store
    cluster = DevstackCluster(claim_folder(), ClusterSize(computes=1, nodes_per_host=2), FAST_TIMERS)
    session = exercise.Session([str(cluster.client_conf)])
    try:
        cluster.layout.make()
        cluster.write_confs()
        for name in DAEMONS:
            cluster.start_daemon(name)
        # Then each logs what it waits for, and keeps waiting
        for name, daemon in cluster.daemons.items():
            log = cluster.layout.log_file(name)
            truth.until(f"{name} says so", lambda log=log: log.exists() and "unreachable" in log.read_text(), 30)
            assert daemon.pid is not None
        # And when the servers start, the cluster serves
        cluster.start_servers()
        exercise.wait_for_nodes(session, 2, 60, lambda count: None)
        boot_server(RunningCluster(cluster, session))
    finally:
        session.close()
        folder = cluster.layout.folder
        cluster.stop()
        release_folder(folder)


def test_store_outage_during_builds(cluster):
    # Given an ACTIVE server and pending ones, when the store is killed
    active_uuid = boot_server(cluster)
    session = cluster.session
    pending_uuids = exercise.boot(session, [FOUR])
    cluster.cluster.store.kill()
    # Then a select fails within its timeout with a typed error
    with pytest.raises((errors.Unavailable, messaging.MessagingTimeout)):
        cluster.admin.scheduler.select_destinations(
            cluster.admin.ctxt.with_timeout(10), TINY.spec(), [str(uuid.uuid4())]
        )
    # And after the restart, all acknowledged data is there and new servers boot
    cluster.cluster.store.start()
    nodes = cluster.cluster.size.nodes
    truth.until("every host is open again", lambda: exercise.open_nodes(session) == nodes)
    truth.assert_consistent(cluster, [active_uuid, *pending_uuids, boot_server(cluster)])


def test_bus_outage_during_builds(cluster):
    without_bus(cluster, cluster.cluster.bus)


# Two boots of a broker take seconds, on a busy machine half a minute.
@pytest.mark.long
@pytest.mark.timeout(600)
def test_rabbitmq_outage_during_builds():
    with clusters.running_cluster(
        clusters.with_mode(Mode.STANDARD, ClusterSize(computes=2, nodes_per_host=3)), FAST_TIMERS
    ) as running:
        daemons = running.cluster.daemons
        before = {name: daemon.pid for name, daemon in daemons.items()}
        without_bus(running, running.cluster.rabbit)
        assert {name: daemon.pid for name, daemon in daemons.items()} == before


def without_bus(running: RunningCluster, broker: RedisServer | RabbitNode | None) -> None:
    """Kill the bus while servers boot, and check that all daemons reconnect."""
    assert broker is not None
    # Given an ACTIVE server and pending ones, when the bus is killed with all its messages
    active_uuid = boot_server(running)
    pending_uuids = exercise.boot(running.session, [FOUR])
    broker.kill()
    # Then a call fails within its timeout with a typed error
    running.session.new_request()
    with pytest.raises((errors.Unavailable, messaging.MessagingTimeout)):
        running.session.claims.verify(running.session.ctxt.with_timeout(3))
    # And after the restart, the pending servers finish and new servers boot
    broker.start()
    truth.assert_consistent(running, [active_uuid, *pending_uuids, boot_server(running)])


def test_reload_and_drain_lose_no_message(cluster):
    # Given callers that send requests continuously, without retries
    answered: list[str] = []
    failed: list[BaseException] = []
    enough = threading.Event()

    def caller() -> None:
        session = exercise.Session([str(cluster.admin_conf)])
        while not enough.is_set():
            session.new_request()
            consumer = str(uuid.uuid4())
            try:
                session.scheduler.select_destinations(session.ctxt.with_timeout(20), TINY.spec(), [consumer])
                answered.append(consumer)
            except (errors.GanttError, messaging.MessagingException) as why:
                failed.append(why)
        session.close()

    callers = [threading.Thread(target=caller) for _ in range(4)]
    for thread in callers:
        thread.start()
    daemon = cluster.cluster.daemons["scheduler"]
    for number in (signal.SIGHUP, signal.SIGTERM):
        count = len(answered)
        truth.until("requests flow", lambda count=count: len(answered) > count + 20)
        # When a worker drains, its successor takes over; a reload interrupts nothing
        if number == signal.SIGHUP:
            daemon.signal(number)
        else:
            os.kill(clusters.workers(daemon)[0], number)
    count = len(answered)
    truth.until("requests flow again", lambda: len(answered) > count + 20)
    enough.set()
    for thread in callers:
        thread.join(30)
    # Then no request went unanswered
    assert not failed
    truth.until("two workers serve", lambda: len(clusters.workers(daemon)) == 2)
