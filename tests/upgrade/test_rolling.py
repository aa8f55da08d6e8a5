# SPDX-License-Identifier: Apache-2.0
"""Every process of a cluster is replaced by that of this release, one by one, while servers boot, change and go."""

import contextlib
import dataclasses
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack import exercise
from devstack.cluster import STOP_SECONDS
from devstack.cluster_size import ClusterSize, Mode
from devstack.deploy.users.folder import write_private
from devstack.servers.process import ServerProcess
from rpcapi.admin.session import Session
from rpcapi.clients.compute import ComputeAPI
from tests.support.clusters import clusters, truth
from tests.support.clusters.clusters import RunningCluster
from tests.upgrade import callers
from tests.upgrade.conftest import Release

pytestmark = [pytest.mark.upgrade, pytest.mark.timeout(1800)]

SIZE = ClusterSize(computes=3, nodes_per_host=2, schedulers=2)
READY_SECONDS = 240.0
# Longer than a process that was replaced under the same name counts as alive.
CHECK_SECONDS = 300.0
HOSTS = [f"compute{number}" for number in range(SIZE.computes)]
# Servers that boot before, beside and after each replacement.
BETWEEN = 5


@pytest.fixture(params=list(Mode))
def cluster(request: pytest.FixtureRequest, former: Release) -> Iterator[RunningCluster]:
    """A cluster whose daemons are the former release's, with a process for each host, on both buses."""
    shape = dataclasses.replace(SIZE, mode=request.param)
    commands = {name: former.command(name) for name in SIZE.daemons}
    environment = {name: {"PYTHONPATH": former.python_path} for name in SIZE.daemons}
    overrides = {"compute": {"compute": {"hosts": HOSTS[0]}}}
    with clusters.running_cluster(shape, overrides, False, environment, commands) as running:
        for host in HOSTS[1:]:
            add_agent(running, host, former)
        exercise.wait_for_nodes(running.session, SIZE.nodes, READY_SECONDS, lambda count: None)
        yield running


def add_agent(cluster: RunningCluster, host: str, release: Release) -> None:
    """Start the agent of another host as a daemon of its own, named after the host."""
    layout = cluster.cluster.layout
    path = layout.state / "compute"
    text = layout.conf("compute").read_text()
    for line, instead in (
        (f"hosts = {HOSTS[0]}", f"hosts = {host}"),
        (f"state_path = {path}", f"state_path = {path / 'others' / host}"),
    ):
        assert line in text
        text = text.replace(line, instead)
    write_private(layout.conf(host), text)
    process = ServerProcess(f"gantt-{host}", layout.pid_file(host), layout.log_file(host))
    cluster.cluster.daemons[host] = process
    start(cluster, host, release.command("compute"), release)


def start(cluster: RunningCluster, daemon: str, command: list[str], release: Release) -> None:
    """Start a process of the cluster's daemons with its configuration."""
    layout = cluster.cluster.layout
    arguments = [*command, "--config-file", str(layout.conf(daemon))]
    cluster.cluster.daemons[daemon].spawn(arguments, release.environment, layout.folder)


@contextlib.contextmanager
def calling(release: Release, cluster: RunningCluster) -> Iterator[dict[str, Any]]:
    """Boot, change and delete servers with a release's client meanwhile; the outcome is filled in at the end."""
    outcome: dict[str, Any] = {}
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
            answer, _ = caller.communicate(timeout=4 * callers.WAIT_SECONDS)
            outcome.update(json.loads(answer))


def wait_for_boots(session: Session) -> None:
    """Wait until BETWEEN more servers than now exist or have existed."""
    present = {server.uuid for server in session.list_all(session.conductor.list_instances, "instances")}
    before = len(present)

    def more() -> bool:
        present.update(server.uuid for server in session.list_all(session.conductor.list_instances, "instances"))
        return len(present) >= before + BETWEEN

    truth.until("more servers boot", more, callers.WAIT_SECONDS)


def start_beside(cluster: RunningCluster, daemon: str, release: Release) -> str:
    """Start another process with a daemon's configuration; return its name among the cluster's daemons."""
    layout = cluster.cluster.layout
    name = f"{daemon}-{release.name}"
    process = ServerProcess(f"gantt-{name}", layout.pid_file(name), layout.log_file(name))
    cluster.cluster.daemons[name] = process
    command = [*release.command(daemon), "--config-file", str(layout.conf(daemon))]
    process.spawn(command, release.environment, layout.folder)
    return name


def replace_beside(cluster: RunningCluster, name: str, release: Release) -> None:
    """Let a process of both releases work side by side, then end the former one."""
    daemons = cluster.cluster.daemons
    newer = start_beside(cluster, name, release)
    wait_for_boots(cluster.session)
    daemons[name].stop(STOP_SECONDS)
    daemons[name] = daemons.pop(newer)
    wait_for_boots(cluster.session)


def replace_agent(cluster: RunningCluster, daemon: str, host: str, release: Release) -> None:
    """Replace the only agent of a host; the other hosts' agents stay as they are."""
    cluster.cluster.daemons[daemon].stop(STOP_SECONDS)
    start(cluster, daemon, release.command("compute"), release)
    truth.until(f"the new agent of {host} reports its versions", lambda: is_current(cluster, host), READY_SECONDS)
    wait_for_boots(cluster.session)


def is_current(cluster: RunningCluster, host: str) -> bool:
    """Return whether the agent of a host is of this release, and was audited."""
    session = cluster.session
    document = session.call(session.scheduler.get_host_state, "service", host).document
    return document.get("rpc_versions") == {"compute": ComputeAPI.VERSION} and document["audited"]


def test_every_process_is_replaced_while_servers_boot_and_change(
    cluster: RunningCluster, former: Release, current: Release
) -> None:
    daemons = cluster.cluster.daemons
    with calling(former, cluster) as of_former:
        wait_for_boots(cluster.session)
        for name in ("conductor", "scheduler"):
            replace_beside(cluster, name, current)
        with calling(current, cluster) as of_current:
            for daemon, host in zip(("compute", *HOSTS[1:]), HOSTS, strict=True):
                replace_agent(cluster, daemon, host, current)
    former_programs = str(former.programs)
    commands = {name: Path(f"/proc/{daemon.pid}/cmdline").read_text() for name, daemon in daemons.items()}
    assert not [name for name, command in commands.items() if former_programs in command], "all are replaced"
    conf = cluster.cluster.client_conf
    truth.until("the upgrade check passes", lambda: is_upgraded(current, conf), CHECK_SECONDS)
    with calling(current, cluster) as last:
        wait_for_boots(cluster.session)
    outcomes = (of_former, of_current, last)
    assert [outcome["failed"] for outcome in outcomes] == [[], [], []]
    assert all(outcome["kept"] and outcome["deleted"] for outcome in outcomes)
    assert set(last["done"]) == {change.method for change in callers.CHANGES}
    assert_nothing_is_lost(cluster, [uuid for outcome in outcomes for uuid in outcome["kept"]])
    servers = [len(outcome["kept"]) + len(outcome["deleted"]) for outcome in outcomes]
    print(json.dumps({"servers": servers, "done": [outcome["done"] for outcome in outcomes]}))


def assert_nothing_is_lost(cluster: RunningCluster, uuids: list[str]) -> None:
    """Assert that exactly the servers that nobody deleted run, each once under its claim."""
    session = cluster.session
    assert {server.status for server in truth.assert_consistent(cluster, uuids, READY_SECONDS)} == {"ACTIVE"}
    records = session.list_all(session.conductor.list_instances, "instances")
    recorded = {server.uuid for server in records if server.status != "DELETED"}
    assert recorded == set(uuids), "what was deleted is gone, and nothing else"


def is_upgraded(release: Release, conf: Path) -> bool:
    """Return whether ``gantt-status upgrade check`` finds nothing."""
    command = [str(release.programs / "gantt-status"), "--config-file", str(conf), "upgrade", "check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=release.environment)
    return done.returncode == 0 and "Success" in done.stdout
