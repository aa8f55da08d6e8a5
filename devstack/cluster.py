# SPDX-License-Identifier: Apache-2.0
"""A whole cluster as separate processes of one run folder: its servers and its daemons."""

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from devstack import confs
from devstack.layout import CLIENT, DAEMONS, SIMULATED, Layout
from devstack.servers.errors import ServerError
from devstack.servers.folder import write_private
from devstack.servers.ports import free_port
from devstack.servers.process import ServerProcess, stop_together
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary
from devstack.servers.redis_users import BUS_USERS, STORE_USERS

STOP_SECONDS = 45.0
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH")


class Mode(StrEnum):
    """What the bus and the store are made of."""

    EMBEDDED = "embedded"  # two small Redis servers, on Unix sockets only
    STANDARD = "standard"  # RabbitMQ and Redis from the distribution's packages, on loopback ports


@dataclass(frozen=True)
class Shape:
    """How large a cluster is and how busy its simulated nodes are; ports 0 mean: any free one.

    ``report_interval`` is in seconds; ``churn`` is the share of nodes, from 0 to 1, that change in each interval.
    ``pools`` and ``networks`` are how many storage pools and physical networks simulated services have beside them.
    """

    mode: Mode = Mode.EMBEDDED
    computes: int = 10
    nodes_per_host: int = 10
    schedulers: int = 2
    amqp_port: int = 0
    store_port: int = 0
    executor: str = "eventlet"
    seed: int = 1
    report_interval: float = 10.0
    churn: float = 0.0
    pools: int = 0
    networks: int = 0

    @property
    def daemons(self) -> tuple[str, ...]:
        """Names of the processes beside the servers."""
        simulated = {"volume": self.pools, "network": self.networks, "publisher": self.pools or self.networks}
        return (*DAEMONS, *(name for name, count in simulated.items() if count))

    @property
    def nodes(self) -> int:
        """How many nodes the agents simulate."""
        return self.computes * self.nodes_per_host


class Cluster:
    """Starts, finds again and stops the processes of one run folder; `overrides` adds lines to a daemon's file.

    ``overrides`` maps a daemon's name to {group: {option: value}}.
    """

    def __init__(self, folder: Path, shape: Shape, overrides: Mapping[str, confs.Groups] | None = None) -> None:
        self.layout = Layout(folder)
        self.shape = shape
        self.overrides = dict(overrides or {})
        # What each daemon is started as, and with what beside the plain environment: a test may put its own here.
        self.commands = {name: _command(name) for name in shape.daemons}
        self.environment: dict[str, dict[str, str]] = {name: {} for name in shape.daemons}
        self.rabbit: RabbitNode | None = None
        self.bus: RedisServer | None = None
        if shape.mode is Mode.STANDARD:
            self.rabbit = RabbitNode(self.layout.rabbit, port=shape.amqp_port or None)
        else:
            self.bus = RedisServer(self.layout.bus, users=BUS_USERS, name="the bus's redis-server")
        self.store = self._make_store()
        self.daemons = {
            name: ServerProcess(f"gantt-{name}", self.layout.pid_file(name), self.layout.log_file(name))
            for name in shape.daemons
        }

    @classmethod
    def find(cls, folder: Path) -> "Cluster | None":
        """Return the cluster that was laid out in ``folder``, or None; raises CardBroken or another ServerError."""
        layout = Layout(folder)
        card = layout.card
        if card is None:
            return None
        try:
            shape = Shape(**{**card, "mode": Mode(card["mode"])})
        except (TypeError, ValueError, KeyError) as why:
            raise layout.card_broken(why) from why
        return cls(folder, shape)

    @property
    def running(self) -> list[str]:
        """Names of the processes that are up."""
        return [name for name, up in self._up().items() if up]

    @property
    def missing(self) -> list[str]:
        """Names of the processes that should be up and are not."""
        return [name for name, up in self._up().items() if not up]

    @property
    def client_conf(self) -> Path:
        """The configuration file for operators' commands against this cluster."""
        return self.layout.conf(CLIENT)

    def start(self) -> None:
        """Start everything. Raises ServerError, and then leaves nothing running and no run folder."""
        if self.layout.present and any(self.layout.folder.iterdir()):
            raise ServerError(
                f"The run folder {self.layout.folder} is not empty, and no cluster of ours is in it. "
                f"Remove it, or choose another with GANTT_RUN."
            )
        try:
            self.layout.make()
            self.layout.write_card(asdict(self.shape))
            self.start_servers()
            self.write_confs()
            for name in self.daemons:
                self.start_daemon(name)
        except BaseException:
            self.destroy()
            raise

    def start_servers(self) -> None:
        """Start the bus and the store."""
        for server in (self.rabbit, self.bus, self.store):
            if server is not None:
                server.start()

    def write_confs(self) -> None:
        """Write each service's file: it holds that service's own passwords and nobody else's."""
        for name in (*self.daemons, CLIENT):
            groups = confs.render(name, self.shape, self.layout, self._urls(name))
            merged = confs.merge(groups, self.overrides.get(name, {}))
            write_private(self.layout.conf(name), confs.text(merged))

    def start_daemon(self, name: str) -> None:
        """Start one daemon; it waits by itself for what it needs."""
        command = [*self.commands[name], "--config-file", str(self.layout.conf(name))]
        inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
        env = {**inherited, **self.environment[name]}
        self.daemons[name].spawn(command, env, self.layout.folder)

    def stop(self) -> None:
        """Stop every process, the daemons at once and before the servers they use; fine when none runs."""
        stop_together(list(self.daemons.values()), STOP_SECONDS)
        for server in (self.store, self.bus, self.rabbit):
            if server is not None:
                server.stop()

    def destroy(self) -> None:
        """Stop every process and remove the run folder; raises FolderUnusable and does neither in one of others."""
        if not self.layout.present:
            return
        self.stop()
        self.layout.remove()

    def _up(self) -> dict[str, bool]:
        parts = {"store": self.store, "bus": self.rabbit or self.bus, **self.daemons}
        return {name: process is not None and process.pid is not None for name, process in parts.items()}

    def _make_store(self) -> RedisServer:
        if self.shape.mode is Mode.EMBEDDED:
            return RedisServer(
                self.layout.store, users=STORE_USERS, appendonly="everysec", name="the store's redis-server"
            )
        port = self.shape.store_port or free_port()
        self.shape = Shape(**{**asdict(self.shape), "mode": self.shape.mode, "store_port": port})
        return RedisServer(
            self.layout.store,
            binary=redis_binary(Flavour.SYSTEM),
            users=STORE_USERS,
            appendonly="always",
            port=port,
            name="the store's redis-server",
        )

    def _urls(self, name: str) -> confs.Urls:
        if self.rabbit is not None:
            bus = self.rabbit.url(SIMULATED.get(name, name))
        else:
            assert self.bus is not None  # noqa: S101 - one of the two is made in __init__
            bus = self.bus.bus_url("bus")
        store = None
        if name in ("scheduler", "conductor"):
            store = self.store.tcp_url(name) if self.shape.mode is Mode.STANDARD else self.store.url(name)
        return confs.Urls(bus=bus, store=store)


def _command(name: str) -> list[str]:
    if name == "publisher":
        return [sys.executable, "-m", "devstack.publishers"]
    program = SIMULATED.get(name, name)
    return [str(Path(sys.executable).with_name(f"gantt-{program}"))]
