# SPDX-License-Identifier: Apache-2.0
"""Whole clusters for tests: each is started in its own folder, and always stopped."""

import contextlib
import dataclasses
import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from devstack import exercise
from devstack.cluster import DevstackCluster
from devstack.cluster_size import ClusterSize, Mode
from devstack.confs import Groups
from devstack.deploy.users.folder import write_private
from devstack.deploy.users.redis_users import ADMIN
from devstack.servers.process import ServerProcess
from rpcapi.admin.session import Session
from tests.support import CHECKOUT
from tests.support.run_folders import claim_folder, release_folder

READY_SECONDS = 90.0
SMALL = ClusterSize(computes=2, nodes_per_host=3, schedulers=2)


@dataclasses.dataclass
class RunningCluster:
    """A running cluster and an operator's session."""

    cluster: DevstackCluster
    session: Session

    @property
    def admin_conf(self) -> Path:
        """The configuration file of the bus's administrator, who may call what other services call."""
        conf, bus = self.cluster.client_conf, self.cluster.bus
        operator, admin = (
            (bus.bus_url("operator"), bus.bus_url(ADMIN.name))
            if bus is not None
            else (self.cluster.rabbit.url("operator"), self.cluster.rabbit.url())  # type: ignore[union-attr]
        )
        path = conf.with_name("admin.conf")
        if not path.exists():
            write_private(path, conf.read_text().replace(operator, admin))
        return path

    @functools.cached_property
    def admin(self) -> Session:
        """A session of the bus's administrator."""
        return Session([str(self.admin_conf)])

    @property
    def folder(self) -> Path:
        """The run folder, with logs and state."""
        return self.cluster.layout.folder


@contextlib.contextmanager
def running_cluster(
    shape: ClusterSize = SMALL,
    overrides: Mapping[str, Groups] | None = None,
    ready: bool = True,
    environment: Mapping[str, dict[str, str]] | None = None,
    commands: Mapping[str, list[str]] | None = None,
) -> Iterator[RunningCluster]:
    """Start a cluster, yield it when all its nodes accept claims, and stop it at the end.

    ``environment`` has additional environment variables and ``commands`` the programs, by daemon.
    """
    folder = claim_folder()
    cluster = DevstackCluster(folder, shape, overrides)
    cluster.environment |= environment or {}
    cluster.commands |= commands or {}
    session = Session([str(cluster.client_conf)])
    sessions = contextlib.ExitStack()
    sessions.callback(session.close)
    try:
        cluster.start()
        if ready:
            exercise.wait_for_nodes(session, shape.nodes, READY_SECONDS, lambda count: None)
        running = RunningCluster(cluster, session)
        sessions.callback(lambda: running.__dict__.get("admin", session).close())
        yield running
    finally:
        sessions.close()
        for daemon in cluster.daemons.values():
            daemon.kill_group()
        cluster.stop()
        release_folder(folder)


def with_mode(mode: Mode, shape: ClusterSize = SMALL) -> ClusterSize:
    """Return the cluster size with another mode."""
    return dataclasses.replace(shape, mode=mode)


def restart(
    running_cluster: RunningCluster, daemon: str, module: Sequence[str] = (), env: Mapping[str, str] | None = None
) -> None:
    """Kill a daemon with its workers and restart it: the installed program, or ``python MODULE``."""
    cluster = running_cluster.cluster
    cluster.daemons[daemon].kill_group()
    plain = [str(Path(sys.executable).with_name(f"gantt-{daemon}"))]
    cluster.commands[daemon] = [sys.executable, *module] if module else plain
    cluster.environment[daemon] = {"PYTHONPATH": str(CHECKOUT), **(env or {})} if module else {}
    cluster.start_daemon(daemon)


def workers(daemon: ServerProcess) -> list[int]:
    """Return the process ids of a daemon's workers."""
    assert daemon.pid is not None, f"{daemon.name} does not run"
    children = Path(f"/proc/{daemon.pid}/task/{daemon.pid}/children").read_text().split()
    return [int(child) for child in children]
