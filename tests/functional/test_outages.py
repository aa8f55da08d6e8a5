# SPDX-License-Identifier: Apache-2.0
"""Bus or store away, at start and in mid-flight; reload and drain: nothing is lost, no daemon is started by hand."""

import os
import signal
import threading
import uuid
from collections.abc import Iterator

import oslo_messaging as messaging
import pytest

from devstack import exercise, workload
from devstack.cluster import Cluster, ClusterSize, Mode
from devstack.layout import DAEMONS
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from rpcapi import errors
from tests.functional import clusters, truth
from tests.functional.clusters import Running
from tests.run_folders import claim_folder, release_folder

TINY = workload.WorkloadRequest("tiny", {"VCPU": 1, "MEMORY_MB": 64}, 1)
FOUR = workload.WorkloadRequest("tiny", {"VCPU": 1, "MEMORY_MB": 64}, 4)
BRISK = {
    "scheduler": {"store": {"reap_interval": 0.5}},
    "conductor": {
        "rpc": {"call_timeout": 5, "call_monitor_timeout": 5},
        "conductor": {"lease": 5, "pump_interval": 0.2, "recast_interval": 2},
    },
    "compute": {"compute": {"call_timeout": 3, "retry_interval_max": 0.5, "report_interval": 1}},
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Running]:
    with clusters.running(ClusterSize(computes=2, nodes_per_host=3), BRISK) as running:
        yield running


@pytest.fixture(autouse=True)
def same_processes(request: pytest.FixtureRequest) -> Iterator[None]:
    """Assert that the daemons of the shared cluster are those that were there before the outage."""
    if "cluster" not in request.fixturenames:
        yield
        return
    daemons = request.getfixturevalue("cluster").cluster.daemons
    before = {name: daemon.pid for name, daemon in daemons.items()}
    yield
    assert {name: daemon.pid for name, daemon in daemons.items()} == before


def boot_one(running: Running) -> str:
    (made,) = exercise.boot(running.session, [TINY])
    (instance,) = truth.assert_sound(running, [made])
    assert instance.status == "ACTIVE", instance.reason
    return made


def test_daemons_wait_for_what_is_away():
    # Given daemons whose bus and store do not run
    cluster = Cluster(claim_folder(), ClusterSize(computes=1, nodes_per_host=2), BRISK)
    session = exercise.Session([str(cluster.client_conf)])
    try:
        cluster.layout.make()
        cluster.write_confs()
        for name in DAEMONS:
            cluster.start_daemon(name)
        # Then each says what it waits for, and goes on waiting
        for name, daemon in cluster.daemons.items():
            log = cluster.layout.log_file(name)
            truth.until(f"{name} says so", lambda log=log: log.exists() and "away" in log.read_text().lower(), 30)
            assert daemon.pid is not None
        # And when they come, it serves
        cluster.start_servers()
        exercise.wait_for_nodes(session, 2, 60, lambda known: None)
        boot_one(Running(cluster, session))
    finally:
        session.close()
        folder = cluster.layout.folder
        cluster.stop()
        release_folder(folder)


def test_store_away_in_mid_flight(cluster):
    # Given a server that runs and others that were just asked for, when the store dies
    kept = boot_one(cluster)
    session = cluster.session
    asked = exercise.boot(session, [FOUR])
    cluster.cluster.store.kill()
    # Then a request for a host fails within its time, as what it is
    session.new_request()
    with pytest.raises((errors.Unavailable, messaging.MessagingTimeout)):
        session.scheduler.select_destinations(session.ctxt.with_timeout(10), TINY.spec(), [str(uuid.uuid4())])
    # And when it is back, all that was acknowledged is there and new servers boot
    cluster.cluster.store.start()
    nodes = cluster.cluster.size.nodes
    truth.until("every host is open again", lambda: exercise.open_nodes(session) == nodes)
    truth.assert_sound(cluster, [kept, *asked, boot_one(cluster)])


def test_bus_away_in_mid_flight(cluster):
    without_bus(cluster, cluster.cluster.bus)


# Two boots of a broker take seconds, on a busy machine half a minute.
@pytest.mark.long
@pytest.mark.timeout(600)
def test_rabbitmq_away_in_mid_flight():
    with clusters.running(clusters.on(Mode.STANDARD, ClusterSize(computes=2, nodes_per_host=3)), BRISK) as running:
        daemons = running.cluster.daemons
        before = {name: daemon.pid for name, daemon in daemons.items()}
        without_bus(running, running.cluster.rabbit)
        assert {name: daemon.pid for name, daemon in daemons.items()} == before


def without_bus(running: Running, broker: RedisServer | RabbitNode | None) -> None:
    """Kill the bus while servers boot, and see everybody find it again by himself."""
    assert broker is not None
    # Given a server that runs and others that were just asked for, when the bus dies with all that was in it
    kept = boot_one(running)
    asked = exercise.boot(running.session, [FOUR])
    broker.kill()
    # Then a call fails within its time, as what it is
    running.session.new_request()
    with pytest.raises((errors.Unavailable, messaging.MessagingTimeout)):
        running.session.claims.verify(running.session.ctxt.with_timeout(3))
    # And when it is back, what was asked for comes to its end and new servers boot
    broker.start()
    truth.assert_sound(running, [kept, *asked, boot_one(running)])


def test_reload_and_drain_lose_no_message(cluster):
    # Given callers that ask without end and never twice
    answered: list[str] = []
    failed: list[BaseException] = []
    enough = threading.Event()

    def caller() -> None:
        session = exercise.Session([str(cluster.cluster.client_conf)])
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
        # When a worker is told to drain, its successor takes over; a reload disturbs nobody
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
