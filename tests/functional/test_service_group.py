# SPDX-License-Identifier: Apache-2.0
"""Liveness by a service group on a real coordination service: deaths, departures and outages."""

import contextlib
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest

from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import free_port
from rpcapi import errors
from rpcapi.daemon.coordination import CoordinationGroup, Coordinator
from scheduler_svc.replication.service_group import ServiceGroupWatcher
from scheduler_svc.store.memory import MemoryStore
from tests.support.private_servers.zookeeper import ZooKeeperServer
from tests.support.run_folders import claim_folder, release_folder
from tests.support.scheduler.hosts import join, node
from tests.support.servers import missing

TIMEOUT = 6.0
DEADLINE = 30.0
ROOT = Path(__file__).parents[2]


ZOOKEEPER = pytest.param("zookeeper", marks=pytest.mark.zookeeper)


@pytest.fixture(params=["redis", ZOOKEEPER])
def backend(request, make_redis):
    """A private coordination service that the test can kill and restart: (server, URL)."""
    if request.param == "redis":
        server = make_redis(port=free_port(), appendonly="everysec")
        yield server, server.tcp_url()
        return
    server = ZooKeeperServer(claim_folder())
    try:
        server.start()
    except BinaryMissing as why:
        missing(why)
    yield server, server.url()
    server.kill()
    release_folder(server.folder)


class Cluster:
    """A store with hosts, member processes, and a scheduler's watcher."""

    def __init__(self, url):
        self.group = CoordinationGroup(url, f"gantt.{uuid.uuid4().hex[:8]}", TIMEOUT)
        self.store = MemoryStore("default", liveness="group")
        join(self.store, {name: node() for name in ("a1", "a2", "b1")})
        self.coordinator = Coordinator(self.group, "watch")
        self.watch = ServiceGroupWatcher(
            self.store, self.coordinator, grace=self.group.grace, settling=self.group.timeout
        )
        self.members = []

    def member(self, *names):
        command = [sys.executable, "-m", "tests.functional.group_member", self.group.url, self.group.name]
        process = subprocess.Popen([*command, str(TIMEOUT), *names], cwd=ROOT, stdout=subprocess.PIPE)
        self.members.append(process)
        assert process.stdout.readline() == b"started\n"
        return process

    @property
    def alive(self):
        return {name for name, alive in self.store.snapshot().alive.items() if alive}

    def poll_until(self, expected, never=()):
        """Poll until exactly the ``expected`` hosts are alive; those in ``never`` must stay alive all the time."""
        deadline = time.monotonic() + DEADLINE
        while self.alive != expected:
            assert time.monotonic() < deadline, f"{self.alive} live, not {expected}"
            assert self.alive >= set(never)
            self.watch.poll()
            time.sleep(0.1)

    def close(self):
        for process in self.members:
            process.kill()
            process.wait()
            process.stdout.close()
        self.coordinator.close()


@pytest.fixture
def cluster(backend):
    with contextlib.closing(Cluster(backend[1])) as group_cluster:
        yield group_cluster


def test_members_are_alive_killed_expire_and_stopped_leave(cluster):
    killed, stopped = cluster.member("a1", "a2"), cluster.member("b1")
    cluster.poll_until({"a1", "a2", "b1"})
    killed.kill()
    cluster.poll_until({"b1"}, never={"b1"})
    again = cluster.member("a1")
    cluster.poll_until({"a1", "b1"}, never={"b1"})
    stopped.terminate()
    assert stopped.wait(20) == 0
    cluster.poll_until({"a1"}, never={"a1"})
    assert again.poll() is None


# With Redis also by test_service_group_cluster.py, with whole daemons.
@pytest.mark.parametrize("backend", [pytest.param("redis", marks=pytest.mark.long), ZOOKEEPER], indirect=True)
def test_outage_of_the_group_marks_no_member_dead(cluster, backend):
    server, _url = backend
    cluster.member("a1", "b1")
    cluster.poll_until({"a1", "b1"})
    server.kill()
    deadline = time.monotonic() + DEADLINE
    with pytest.raises(errors.Unavailable):
        while time.monotonic() < deadline:
            cluster.coordinator.members()
    began = time.monotonic()
    while time.monotonic() < began + 1.5 * TIMEOUT:
        cluster.watch.poll()
        assert cluster.alive == {"a1", "b1"}
        time.sleep(0.2)
    server.start()
    late = cluster.member("a2")
    cluster.poll_until({"a1", "a2", "b1"}, never={"a1", "b1"})
    late.kill()
    cluster.poll_until({"a1", "b1"}, never={"a1", "b1"})


def test_missing_group_raises_unavailable(cluster):
    with pytest.raises(errors.Unavailable):
        cluster.coordinator.members()


def test_unreachable_backend_raises_unavailable_in_time():
    coordinator = Coordinator(CoordinationGroup(f"redis://127.0.0.1:{free_port()}", "g", TIMEOUT), "watch")
    with pytest.raises(errors.Unavailable, match="The service group g"):
        coordinator.members()
