# SPDX-License-Identifier: Apache-2.0
"""Following a cluster with ``gantt events`` and ``gantt server list --watch``, across a failed store."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import Queue

import pytest

from devstack.cluster_size import ClusterSize
from tests.support.clusters import clusters
from tests.support.clusters.booting import boot, gantt
from tests.support.clusters.clusters import RunningCluster

SHAPE = ClusterSize(computes=2, nodes_per_host=1)
SECONDS = 60


@pytest.fixture(scope="module")
def cluster() -> Iterator[RunningCluster]:
    with clusters.running_cluster(SHAPE) as running:
        yield running


class FollowingCommand:
    """A command that prints one JSON object per line until it is interrupted."""

    def __init__(self, cluster: RunningCluster, *arguments: str) -> None:
        command = [str(Path(sys.executable).with_name("gantt")), "--config-file", str(cluster.cluster.client_conf)]
        self._process = subprocess.Popen(
            [*command, *arguments, "-f", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._rows: Queue = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout:
            self._rows.put(json.loads(line))

    def wait_for(self, matches) -> dict:
        """Return the next row that matches."""
        while True:
            row = self._rows.get(timeout=SECONDS)
            if matches(row):
                return row

    def interrupt(self) -> tuple[int, str]:
        """Interrupt the command; return exit code and standard error."""
        self._process.send_signal(signal.SIGINT)
        code = self._process.wait(SECONDS)
        self._reader.join(SECONDS)
        return code, self._process.stderr.read()

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@pytest.fixture
def follow(cluster):
    commands = []

    def start(*arguments):
        commands.append(FollowingCommand(cluster, *arguments))
        return commands[-1]

    yield start
    for command in commands:
        command.kill()


def sets_aggregate(name):
    return lambda row: row["kind"] == "state" and name in row["payload"].get("aggregate", {})


def test_events_continue_at_the_position_that_an_interrupted_run_printed(cluster, follow):
    events = follow("events", "--kind", "state", "--after", "default:1:0")
    gantt(cluster, "aggregate", "set", "first", "ssd=true", "--host", "compute0")
    row = events.wait_for(sets_aggregate("first"))
    assert row["payload"]["aggregate"]["first"]["hosts"] == ["compute0"]
    gantt(cluster, "aggregate", "set", "last", "ssd=true", "--host", "compute0")
    events.wait_for(sets_aggregate("last"))  # The run that continues may print this row again, but none before it.
    code, message = events.interrupt()
    assert code == 0
    options = message.strip().removeprefix("Continue with: gantt events ").split()
    option, printed = options
    place, _, position = printed.rpartition(":")
    assert (option, place) == ("--after", f"default:{row['epoch']}")
    assert int(position) >= row["position"]  # later changes of other kinds are behind it too
    gantt(cluster, "aggregate", "set", "second", "ssd=true", "--host", "compute1")
    lines = gantt(cluster, "events", "--once", "--kind", "state", "-f", "json", *options).splitlines()
    documents = [json.loads(line)["payload"] for line in lines]
    assert any("second" in payload.get("aggregate", {}) for payload in documents)
    assert not any("first" in payload.get("aggregate", {}) for payload in documents)


def test_events_tell_that_a_new_epoch_began(cluster, follow):
    (partition,) = json.loads(gantt(cluster, "partition", "list", "-f", "json"))
    # From here on, and not from when the command has started.
    events = follow("events", "--after", f"{partition['name']}:{partition['epoch']}:{partition['position']}")
    gantt(cluster, "host", "disable", "compute1", "--reason", "fan")
    row = events.wait_for(lambda row: row["kind"] == "service" and not row["payload"]["compute1"]["enabled"])
    gantt(cluster, "host", "enable", "compute1")
    cluster.cluster.store.kill()
    cluster.cluster.store.start()
    resync = events.wait_for(lambda row: row["kind"] == "resync")
    assert resync["epoch"] > row["epoch"]
    assert events.wait_for(lambda row: row["kind"] == "opened")["epoch"] == resync["epoch"]


def test_watch_prints_a_server_from_its_boot_to_its_end(cluster, follow):
    watch = follow("server", "list", "--watch", "--interval", "0.1")
    instance = boot(cluster)
    assert instance.status == "ACTIVE", instance.reason
    row = watch.wait_for(lambda row: row["uuid"] == instance.uuid and row["status"] == "ACTIVE")
    assert row["host"] == instance.host
    gantt(cluster, "server", "delete", instance.uuid, "--wait")
    watch.wait_for(lambda row: row["uuid"] == instance.uuid and row["status"] == "DELETED")
    assert watch.interrupt() == (0, "")
