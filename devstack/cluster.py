# SPDX-License-Identifier: Apache-2.0
"""Development cluster: its servers and daemons as separate processes in one run folder."""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from devstack import confs
from devstack.cluster_size import ClusterSize, Mode
from devstack.deploy.monitoring import prometheus
from devstack.deploy.users import redis_users
from devstack.deploy.users.folder import Passwords, write_private
from devstack.layout import BUS_USERS, CLIENT, DASHBOARD, PLACEMENT, PUBLISHER, SIMULATED_DAEMONS, Layout
from devstack.servers import redis_bus_users
from devstack.servers.errors import ServerError
from devstack.servers.ports import LOOPBACK, free_port, require_free
from devstack.servers.process import ServerProcess, stop_together
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary

STOP_SECONDS = 45.0
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "EVENTLET_NO_GREENDNS")


class DevstackCluster:
    """Cluster of one run folder; ``overrides`` adds options per daemon: {name: {group: {option: value}}}."""

    def __init__(self, folder: Path, size: ClusterSize, overrides: Mapping[str, confs.Groups] | None = None) -> None:
        self.layout = Layout(folder)
        self.size = _with_ports(size)
        self.overrides = dict(overrides or {})
        # Command and additional environment variables of each daemon; tests may replace them.
        self.commands = {name: _command(name) for name in size.daemons}
        self.environment: dict[str, dict[str, str]] = {name: {} for name in size.daemons}
        self.rabbit: RabbitNode | None = None
        self.bus: RedisServer | None = None
        if size.mode is Mode.STANDARD:
            self.rabbit = RabbitNode(self.layout.rabbit, port=size.amqp_port or None)
        else:
            self.bus = RedisServer(
                self.layout.bus,
                users=redis_bus_users.SERVICE_BUS_USERS,
                settings=redis_bus_users.BUS_SETTINGS,
                name="the bus's redis-server",
            )
        self.store = self._make_store()
        self.daemons = {
            name: ServerProcess(f"gantt-{name}", self.layout.pid_file(name), self.layout.log_file(name))
            for name in size.daemons
        }

    @classmethod
    def find(cls, folder: Path) -> "DevstackCluster | None":
        """Return the cluster recorded in ``folder``, or None. Raises ClusterRecordBroken or FolderUnusable."""
        layout = Layout(folder)
        record = layout.cluster_record
        if record is None:
            return None
        try:
            size = ClusterSize(**{**record, "mode": Mode(record["mode"])})
        except (TypeError, ValueError, KeyError) as why:
            raise layout.cluster_record_error(why) from why
        return cls(folder, size)

    @property
    def running(self) -> list[str]:
        return [name for name, up in self._up().items() if up]

    @property
    def missing(self) -> list[str]:
        """Names of the processes that should run but do not."""
        return [name for name, up in self._up().items() if not up]

    @property
    def placement_url(self) -> str | None:
        return None if self.size.placement_port is None else f"http://{LOOPBACK}:{self.size.placement_port}"

    @property
    def dashboard_url(self) -> str | None:
        return None if self.size.dashboard_port is None else f"http://{LOOPBACK}:{self.size.dashboard_port}"

    @property
    def dashboard_token(self) -> str:
        return Passwords(self.layout.etc).of(DASHBOARD)

    @property
    def client_conf(self) -> Path:
        return self.layout.conf(CLIENT)

    def start(self) -> None:
        """Start servers and daemons. On an error, stop them, remove the run folder and raise DevstackError."""
        if self.layout.present and any(self.layout.folder.iterdir()):
            raise ServerError(
                f"The run folder {self.layout.folder} is not empty and contains no gantt cluster. "
                f"Remove it, or set GANTT_RUN to another folder."
            )
        try:
            self.layout.make()
            self.layout.write_cluster_record(asdict(self.size))
            for port, program in ((self.size.placement_port, PLACEMENT), (self.size.dashboard_port, DASHBOARD)):
                if port is not None:
                    require_free(port, f"gantt-{program}")
            self.start_servers()
            self.write_confs()
            for name in self.daemons:
                self.start_daemon(name)
        except BaseException:
            self.destroy()
            raise

    def start_servers(self) -> None:
        for server in (self.rabbit, self.bus, self.store):
            if server is not None:
                server.start()

    def write_confs(self) -> None:
        """Write one configuration file per service, with only this service's passwords."""
        for name in (*self.daemons, CLIENT):
            groups = confs.render(name, self.size, self.layout, self._urls(name))
            merged = confs.merge(groups, self.overrides.get(name, {}))
            write_private(self.layout.conf(name), confs.text(merged))
        if self.size.metrics:
            write_private(self.layout.prometheus_conf, prometheus.configuration(self.size.metrics_ports))

    def start_daemon(self, name: str) -> None:
        command = [*self.commands[name], "--config-file", str(self.layout.conf(name))]
        env = {**inherited_environment(), **self.environment[name]}
        self.daemons[name].spawn(command, env, self.layout.folder)

    def stop(self) -> None:
        """Stop the daemons in parallel, then the servers. Without effect if none runs."""
        stop_together(list(self.daemons.values()), STOP_SECONDS)
        for server in (self.store, self.bus, self.rabbit):
            if server is not None:
                server.stop()

    def destroy(self) -> None:
        """Stop all processes and remove the run folder. Raises FolderUnusable and changes nothing if others own it."""
        if not self.layout.present:
            return
        self.stop()
        self.layout.remove()

    def _up(self) -> dict[str, bool]:
        parts = {"store": self.store, "bus": self.rabbit or self.bus, **self.daemons}
        return {name: process is not None and process.pid is not None for name, process in parts.items()}

    def _make_store(self) -> RedisServer:
        if self.size.mode is Mode.EMBEDDED:
            return RedisServer(
                self.layout.store, users=redis_users.STORE_USERS, appendonly="everysec", name="the store's redis-server"
            )
        port = self.size.store_port or free_port()
        self.size = ClusterSize(**{**asdict(self.size), "mode": self.size.mode, "store_port": port})
        return RedisServer(
            self.layout.store,
            binary=redis_binary(Flavour.SYSTEM),
            users=redis_users.STORE_USERS,
            appendonly="always",
            port=port,
            name="the store's redis-server",
        )

    def _urls(self, name: str) -> confs.ServiceUrls:
        user = BUS_USERS.get(name, name)
        bus: str | None = None
        if name == PLACEMENT:
            pass
        elif self.rabbit is not None:
            bus = self.rabbit.url(user)
        else:
            assert self.bus is not None  # noqa: S101 - __init__ creates one of the two
            bus = self.bus.bus_url(user)
        store = None
        if name in redis_users.STORE_USER_NAMES:
            store = self.store.tcp_url(name) if self.size.mode is Mode.STANDARD else self.store.url(name)
        stamp_key = Passwords(self.layout.etc).of("stamp") if name == "scheduler" else None
        token = self.dashboard_token if name == DASHBOARD else None
        return confs.ServiceUrls(bus=bus, store=store, stamp_key=stamp_key, token=token)


def inherited_environment() -> dict[str, str]:
    return {key: os.environ[key] for key in INHERITED if key in os.environ}


def _with_ports(size: ClusterSize) -> ClusterSize:
    if size.placement_port == 0:
        size = replace(size, placement_port=free_port())
    if size.dashboard_port == 0:
        size = replace(size, dashboard_port=free_port())
    ports = {name: size.metrics_ports.get(name) or free_port() for name in size.exporters}
    return replace(size, metrics_ports=ports)


def _command(name: str) -> list[str]:
    if name == PUBLISHER:
        return [sys.executable, "-m", "devstack.publishers"]
    program = SIMULATED_DAEMONS.get(name, name)
    return [str(Path(sys.executable).with_name(f"gantt-{program}"))]
