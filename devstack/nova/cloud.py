# SPDX-License-Identifier: Apache-2.0
"""Nova cloud of separate processes in one run folder."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import Path

from devstack import peer_environments
from devstack.cluster import INHERITED
from devstack.confs import PARTITION
from devstack.deploy.users import redis_users
from devstack.layout import Layout
from devstack.nova import records, roles
from devstack.nova.client import CloudPlacementClient, NovaClient, wait_until
from devstack.nova.confs import CELL0_DATABASE, CELL2_DATABASE, CELL_DATABASE, CELL_DATABASES, DATABASES, CloudUrls
from devstack.nova.roles import CloudParts, Daemon
from devstack.nova.size import CloudSize
from devstack.servers.errors import ServerError
from devstack.servers.mariadb import MariadbServer
from devstack.servers.ports import LOOPBACK, answers, free_port
from devstack.servers.process import ServerProcess, stop_together
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from scheduler_svc.core.namespaces.compute_node import NAMESPACE
from scheduler_svc.store.redis import RedisStore

START_SECONDS = 180.0
COMMAND_SECONDS = 600.0
STOP_SECONDS = 45.0
TAIL = 2000
# Separate virtual hosts, because gantt's exchanges share names with Nova's, and each cell has its own message bus.
NOVA_VHOST, CELL2_VHOST = "nova", "nova-cell2"
# The databases end with the cloud, so commits need not be durable.
DATABASE_SETTINGS = ("--innodb-flush-log-at-trx-commit=0", "--max-connections=600")


def default_folder() -> Path:
    configured = os.environ.get("GANTT_NOVA_RUN")
    return Path(configured) if configured else Path(tempfile.gettempdir()) / f"gantt-nova-{os.getuid()}"


class NovaCloud:
    """Nova cloud in a run folder, with additional RabbitMQ ``vhosts``. Nova must be installed."""

    def __init__(
        self, folder: Path, size: CloudSize, ports: Mapping[str, int] | None = None, vhosts: Sequence[str] = ()
    ) -> None:
        self.layout = Layout(folder)
        self.size = size
        self.ports = dict(ports or {name: free_port() for name in roles.PORTS})
        self.rabbit = RabbitNode(self.layout.rabbit, vhosts=[NOVA_VHOST, CELL2_VHOST, *vhosts])
        self.database = MariadbServer(self.layout.folder / "mariadb", databases=DATABASES, settings=DATABASE_SETTINGS)
        self.store = RedisServer(self.layout.store, users=redis_users.STORE_USERS, appendonly=size.durability)
        self.nova = NovaClient(self.url("api"))
        self.placement = CloudPlacementClient(self.url("placement"))

    @classmethod
    def find(cls, folder: Path) -> "NovaCloud | None":
        layout = Layout(folder)
        record = layout.cluster_record
        if record is None:
            return None
        try:
            return cls(folder, CloudSize(**record["size"]), record["ports"])
        except (TypeError, KeyError) as why:
            raise layout.cluster_record_error(why) from why

    @cached_property
    def parts(self) -> CloudParts:
        """Inputs of the daemons' commands, available after the servers have started."""
        urls = CloudUrls(
            bus=self.rabbit.url(driver="rabbit", vhost=NOVA_VHOST),
            cell2_bus=self.rabbit.url(driver="rabbit", vhost=CELL2_VHOST),
            fakes=self.url("fakes"),
            placement=self.url("placement"),
            api=self.url("api"),
            databases={name: self.database.url(name) for name in DATABASES},
            store=self.store.url(redis_users.PLACEMENT.name),
            gantt_bus=self.rabbit.url(),
            scheduler_store=self.store.url(redis_users.SCHEDULER.name),
            bridge_store=self.store.url(redis_users.NOVA_BRIDGE.name),
        )
        environment = peer_environments.python().parents[1]
        return CloudParts(self.size, environment, self.layout.etc, self.layout.state, self.ports, urls)

    @property
    def running(self) -> list[str]:
        return sorted(path.stem for path in self._pid_files() if self._process(path).pid is not None)

    def start(self) -> None:
        """Start everything, and wait until all computes accept servers. On an error, remove the run folder."""
        if self.layout.present and any(self.layout.folder.iterdir()):
            raise ServerError(f"The run folder {self.layout.folder} is not empty; remove it, or set GANTT_NOVA_RUN.")
        peer_environments.python()
        try:
            self.start_servers()
            self._start_services()
        except BaseException:
            self.destroy()
            raise

    def start_servers(self) -> None:
        self.layout.make()
        self.layout.write_cluster_record({"size": asdict(self.size), "ports": self.ports})
        for server in (self.rabbit, self.database, self.store):
            server.start()

    def spawn(self, daemon: Daemon) -> ServerProcess:
        process = self.process(daemon.name)
        env = {key: os.environ[key] for key in INHERITED if key in os.environ and key != "PYTHONPATH"}
        process.spawn(daemon.command, {**env, **daemon.env}, self.layout.folder)
        return process

    def process(self, name: str) -> ServerProcess:
        return ServerProcess(name, self.layout.pid_file(name), self.layout.log_file(name))

    def command(self, program: str, *arguments: str, statuses: Sequence[int] = (0,)) -> str:
        """Run nova-manage or nova-status, and return its output. Raises ServerError for an unexpected exit status."""
        return self.run([*roles.nova_program(self.parts, program), *arguments], {}, statuses)

    def differences(self) -> list[str]:
        return records.differences(self.cell_databases, self.placement)

    def open_store(self, *namespaces: str) -> RedisStore:
        """Return gantt's store with the rights of gantt-scheduler; the caller must close it."""
        return RedisStore(self.store.url(redis_users.SCHEDULER.name), PARTITION, namespaces=namespaces)

    def stop(self) -> None:
        stop_together([self._process(path) for path in self.layout.folder.glob("*.pid")], STOP_SECONDS)
        for server in (self.store, self.database, self.rabbit):
            server.stop()

    def destroy(self) -> None:
        if self.layout.present:
            self.stop()
            self.layout.remove()

    def run(self, command: Sequence[str], env: Mapping[str, str], statuses: Sequence[int]) -> str:
        inherited = {key: os.environ[key] for key in ("PATH", "HOME", "LANG", "LC_ALL") if key in os.environ}
        completed = subprocess.run(  # noqa: S603 - a program of Nova or gantt
            command,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
            cwd=self.layout.folder,
            env={**inherited, **env},
        )
        output = completed.stdout + completed.stderr
        line = " ".join([Path(command[0]).name, *command[1:]])
        with self.layout.log_file(Path(command[0]).name).open("a") as log:
            log.write(f"$ {line}\n{output}\n")
        if completed.returncode not in statuses:
            raise ServerError(f"`{line}` ended with {completed.returncode}: {output.strip()[-TAIL:]}")
        return completed.stdout

    def _start_services(self) -> None:
        ready = [(daemon, self.spawn(daemon)) for daemon in roles.fakes(self.parts)]
        ready += [(daemon, self.spawn(daemon)) for daemon in roles.served_by(self.parts, "placement")]
        self.create_tables()
        for daemons in (roles.conductor, roles.api):
            ready += [(daemon, self.spawn(daemon)) for daemon in daemons(self.parts)]
        ready += [(daemon, self.spawn(daemon)) for daemon in roles.served_by(self.parts, "scheduler")]
        ready += [(daemon, self.spawn(daemon)) for daemon in roles.computes(self.parts)]
        self.wait_for_ports(ready)
        self.wait_for_computes(len(self.size.hosts))

    @staticmethod
    def wait_for_ports(daemons: Iterable[tuple[Daemon, ServerProcess]]) -> None:
        for daemon, process in daemons:
            if daemon.port is not None:
                process.wait_ready(partial(answers, daemon.port), START_SECONDS)

    def create_tables(self) -> None:
        databases = self.parts.urls.databases
        self.command("nova-manage", "api_db", "sync")
        self.command("nova-manage", "cell_v2", "map_cell0", "--database_connection", databases[CELL0_DATABASE])
        self.command("nova-manage", "db", "sync")
        self._create_cell("cell1", databases[CELL_DATABASE], self.parts.urls.bus)
        if self.size.second_cell:
            self.run([*roles.cell2_program(self.parts, "nova-manage"), "db", "sync", "--local_cell"], {}, (0,))
            self._create_cell("cell2", databases[CELL2_DATABASE], self.parts.urls.cell2_bus)

    def _create_cell(self, name: str, database: str, bus: str) -> None:
        connections = ["--database_connection", database, "--transport-url", bus]
        self.command("nova-manage", "cell_v2", "create_cell", "--name", name, *connections)

    def wait_for_computes(self, count: int) -> None:
        """Wait for ``count`` computes' providers, map their hosts to the cell, and wait for the services."""
        wait_until(lambda: self.placement.count_computes() >= count, "the providers of all computes", START_SECONDS)
        self.command("nova-manage", "cell_v2", "discover_hosts")
        wait_until(lambda: len(self.nova.hosts_up()) >= count, "all computes to be up", START_SECONDS)
        if self.size.scheduler != "nova":
            wait_until(lambda: self._count_known_hosts() >= count, "gantt-nova-bridge to read them", START_SECONDS)

    def _count_known_hosts(self) -> int:
        with contextlib.closing(self.open_store(NAMESPACE)) as store:
            rows, _ = store.list_state(NAMESPACE)
        return sum(document["mapped"] and document["up"] for _, _, document in rows)

    @property
    def cell_databases(self) -> list[str]:
        names = CELL_DATABASES if self.size.second_cell else (CELL_DATABASE,)
        return [self.parts.urls.databases[name] for name in names]

    def url(self, name: str) -> str:
        return f"http://{LOOPBACK}:{self.ports[name]}"

    def _pid_files(self) -> list[Path]:
        return list(self.layout.folder.rglob("*.pid")) if self.layout.present else []

    def _process(self, path: Path) -> ServerProcess:
        return ServerProcess(path.stem, path, self.layout.log_file(path.stem))
