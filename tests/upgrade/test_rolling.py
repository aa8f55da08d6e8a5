# SPDX-License-Identifier: Apache-2.0
"""Every process of a cluster is replaced by that of this release, one by one, while servers boot and are deleted."""

import contextlib
import dataclasses
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from devstack import exercise
from devstack.cluster import STOP_SECONDS
from devstack.cluster_size import ClusterSize, Mode
from devstack.servers.process import ServerProcess
from rpcapi.cli.session import Session
from tests.functional import clusters, truth
from tests.functional.clusters import RunningCluster
from tests.upgrade import callers
from tests.upgrade.conftest import Release

SIZE = ClusterSize(computes=3, nodes_per_host=2, schedulers=2)
READY_SECONDS = 90.0
# Servers that boot before, beside and after each replacement.
BETWEEN = 5


@pytest.fixture(params=list(Mode))
def cluster(request: pytest.FixtureRequest, former: Release) -> Iterator[RunningCluster]:
    """A cluster whose daemons are the former release's, on embedded servers and on RabbitMQ."""
    shape = dataclasses.replace(SIZE, mode=request.param)
    commands = {name: former.command(name) for name in SIZE.daemons}
    environment = {name: {"PYTHONPATH": former.python_path} for name in SIZE.daemons}
    with clusters.running_cluster(shape, environment=environment, commands=commands) as running:
        yield running


@contextlib.contextmanager
def calling(release: Release, cluster: RunningCluster) -> Iterator[dict[str, list[str]]]:
    """Boot and delete servers with a release's client meanwhile; the outcome is filled in at the end."""
    outcome: dict[str, list[str]] = {}
    command = [release.python, "-W", "ignore", callers.__file__, str(cluster.cluster.client_conf)]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=cluster.folder,
        env=release.environment,
    ) as caller:
        try:
            yield outcome
        finally:
            answer, _ = caller.communicate(timeout=2 * callers.WAIT_SECONDS)
            outcome.update(json.loads(answer))


def wait_for_boots(session: Session) -> None:
    """Wait until BETWEEN more servers than now exist or have existed."""
    present = {server.uuid for server in session.list_all(session.conductor.list_instances, "instances")}
    before = len(present)

    def more() -> bool:
        present.update(server.uuid for server in session.list_all(session.conductor.list_instances, "instances"))
        return len(present) >= before + BETWEEN

    truth.until("more servers boot", more)


def start_beside(cluster: RunningCluster, daemon: str, release: Release) -> str:
    """Start another process with a daemon's configuration; return its name among the cluster's daemons."""
    layout = cluster.cluster.layout
    name = f"{daemon}-{release.name}"
    process = ServerProcess(f"gantt-{name}", layout.pid_file(name), layout.log_file(name))
    cluster.cluster.daemons[name] = process
    command = [*release.command(daemon), "--config-file", str(layout.conf(daemon))]
    process.spawn(command, release.environment, layout.folder)
    return name


def test_every_process_is_replaced_while_servers_boot(
    cluster: RunningCluster, former: Release, current: Release
) -> None:
    session, daemons = cluster.session, cluster.cluster.daemons
    with calling(former, cluster) as outcome:
        wait_for_boots(session)
        # Schedulers and conductors of both releases work side by side, then those of the former one end
        for name in ("conductor", "scheduler"):
            newer = start_beside(cluster, name, current)
            wait_for_boots(session)
            daemons[name].stop(STOP_SECONDS)
            daemons[name] = daemons.pop(newer)
            wait_for_boots(session)
        # A host has one agent
        daemons["compute"].stop(STOP_SECONDS)
        cluster.cluster.commands["compute"] = current.command("compute")
        cluster.cluster.environment["compute"] = {"PYTHONPATH": current.python_path}
        cluster.cluster.start_daemon("compute")
        exercise.wait_for_nodes(session, SIZE.nodes, READY_SECONDS, lambda count: None)
        wait_for_boots(session)
    former_programs = str(former.programs)
    commands = {name: Path(f"/proc/{daemon.pid}/cmdline").read_text() for name, daemon in daemons.items()}
    assert not [name for name, command in commands.items() if former_programs in command], "all are replaced"
    with calling(current, cluster) as last:
        wait_for_boots(session)
    for reported in (outcome, last):
        assert reported["failed"] == []
        assert len(reported["kept"]) >= BETWEEN // 2
        assert reported["deleted"]
    remaining = outcome["kept"] + last["kept"]
    assert {server.status for server in truth.assert_consistent(cluster, remaining, READY_SECONDS)} == {"ACTIVE"}
    records = session.list_all(session.conductor.list_instances, "instances")
    recorded = {server.uuid for server in records if server.status != "DELETED"}
    assert recorded == set(remaining), "what was deleted is gone, and nothing else"
    assert "Success" in status_check(current, cluster.cluster.client_conf)


def status_check(release: Release, conf: Path) -> str:
    """Return what ``gantt-status upgrade check`` prints; it must exit with 0."""
    command = [str(release.programs / "gantt-status"), "--config-file", str(conf), "upgrade", "check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
