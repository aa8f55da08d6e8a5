# SPDX-License-Identifier: Apache-2.0
"""Nova's scheduler with Placement, and gantt's daemons, over the same computes in the same Nova databases.

Each side, and the echo, uses its own virtual host of one RabbitMQ. No compute runs: the records say that all are up.
"""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import amqp

from devstack.deploy.users.folder import private_folder, write_private
from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.lab.hosts import stable_uuid
from devstack.lab.nova import echo, hosts
from devstack.lab.peers import side
from devstack.lab.peers.side import PeerProcess
from devstack.lab.placement.servers import create_provider
from devstack.lab.private_servers import started
from devstack.lab.processor_time import cpu_seconds
from devstack.lab.worker_processes import WorkerProcesses
from devstack.nova import roles
from devstack.nova.client import CloudPlacementClient, wait_until
from devstack.nova.cloud import NOVA_VHOST, NovaCloud
from devstack.nova.confs import PLACEMENT_DATABASE
from devstack.nova.roles import CloudParts, Daemon
from devstack.nova.size import CloudSize
from devstack.servers.ports import LOOPBACK, free_port
from devstack.servers.process import ServerProcess
from scheduler_svc.core.namespaces.compute_node import NAMESPACE
from scheduler_svc.store import paging
from scheduler_svc.store.redis import RedisStore

OURS, THEIRS, ECHO = "ours", "theirs", "echo"
VHOSTS = {OURS: "lab-gantt", THEIRS: NOVA_VHOST, ECHO: "lab-echo"}
THEIR_PLACEMENT = "their_placement"  # name of the port of Nova's Placement
SECONDS_DOWN = 86_400  # service_down_time of both sides, because no compute reports
START_SECONDS = 180.0
STOP_SECONDS = 30.0
IDLE_SHARE, IDLE_SECONDS = 0.1, 300.0  # processor share of an idle process; longest wait for it

NOVA_SETTINGS = f"""\
[DEFAULT]
service_down_time = {SECONDS_DOWN}
[scheduler]
max_placement_results = {{limit}}
[filter_scheduler]
available_filters = nova.scheduler.filters.all_filters
available_filters = lab_filters.SeenHostsFilter
enabled_filters = SeenHostsFilter,ComputeFilter,ComputeCapabilitiesFilter,ImagePropertiesFilter,\
ServerGroupAntiAffinityFilter,ServerGroupAffinityFilter
"""
GANTT_SETTINGS = f"[nova]\nservice_down_time = {SECONDS_DOWN}\n"


class PairedCloud:
    """Both sides over as many computes as ``grow`` has written."""

    def __init__(self, folder: Path) -> None:
        ports = {name: free_port() for name in (*roles.PORTS, THEIR_PLACEMENT)}
        size = CloudSize(computes=0, placement="gantt", scheduler="gantt")
        self._cloud = NovaCloud(folder, size, ports, vhosts=[VHOSTS[OURS], VHOSTS[ECHO]])
        self._cleanup = contextlib.ExitStack()
        self._counts_file = folder / "filtered_hosts"
        self._size = 0
        self._nova_scheduler: ServerProcess | None = None

    def start(self) -> None:
        """Start everything except nova-scheduler, without computes. Raises ServerError and PeerFailed."""
        cloud = self._cloud
        cloud.start_servers()
        self.client = self._peer("nova_select_side.py")
        self._records = self._peer("nova_records_side.py")
        self._placement = self._peer("placement_http_side.py")
        cloud.create_tables()
        for name, vhost in VHOSTS.items():
            self.client.ask("connect", name=name, url=cloud.rabbit.url(driver="rabbit", vhost=vhost))
        self._records.ask("open", conf=str(roles.control_conf(self._nova_parts)))
        daemons = roles.fakes(cloud.parts)
        daemons += roles.served_by(self._gantt_parts, "placement") + roles.served_by(self._nova_parts, "placement")
        daemons += [
            _with_settings(daemon, self._gantt_settings) for daemon in roles.served_by(self._gantt_parts, "scheduler")
        ]
        self._processes = {daemon.name: cloud.spawn(daemon) for daemon in daemons}
        cloud.wait_for_ports([(daemon, self._processes[daemon.name]) for daemon in daemons])

    def close(self) -> None:
        self._cleanup.close()
        self._cloud.destroy()

    def grow(self, size: int) -> None:
        """Write computes up to this number, clear Placement's allocations, and wait for gantt-nova-bridge."""
        added = hosts.names(self._size, size)
        connection = self._cloud.parts.urls.databases[PLACEMENT_DATABASE]
        self._placement.ask(
            "prepare", connection=connection, providers=[hosts.provider(name) for name in hosts.names(0, size)]
        )
        self._records.ask("add", computes=[(name, stable_uuid(name)) for name in added], total=hosts.TOTAL)
        with contextlib.closing(self._cloud.open_store(NAMESPACE)) as store:
            for name in added:
                create_provider(store, hosts.provider(name), name)
            wait_until(lambda: _count(store) == size, f"{size} documents of gantt-nova-bridge", START_SECONDS)
        self._size = size
        self._wait_served(OURS)
        self._wait_idle(*self._processes.values())

    def run_nova_scheduler(self, limit: int) -> None:
        """Restart nova-scheduler with this max_placement_results, and warm its cache."""
        if self._nova_scheduler is not None:
            self._nova_scheduler.stop(STOP_SECONDS)
        settings = self._cloud.layout.etc / "nova-scheduler.conf"
        write_private(settings, NOVA_SETTINGS.format(limit=limit))
        (daemon,) = roles.served_by(self._nova_parts, "scheduler")
        environ = {**daemon.env, "PYTHONPATH": str(side.INSIDE), "GANTT_LAB_SEEN": str(self._counts_file)}
        self._nova_scheduler = self._cloud.spawn(_with_settings(replace(daemon, env=environ), settings))
        self._wait_served(THEIRS)
        self.select(THEIRS)
        self.client.ask("sync", name=THEIRS, hosts=hosts.names(0, self._size))
        self._wait_idle(self._nova_scheduler)

    def select(self, name: str) -> dict[str, Any]:
        """Select a host for a new server, delete its allocation, and return the answer of nova_select_side.py."""
        answer: dict[str, Any] = self.client.ask("select", name=name)
        if name != ECHO:
            self._api(name).call("DELETE", f"/allocations/{answer['server']}")  # fails with 404 if nothing was claimed
        return answer

    def filtered_hosts(self) -> list[int]:
        """Return the number of hosts that Nova's filters saw in each request so far."""
        return [int(line) for line in self._counts_file.read_text().split()] if self._counts_file.exists() else []

    @contextlib.contextmanager
    def echo(self, answer: Any) -> Iterator[None]:
        url = self._cloud.rabbit.url(driver="rabbit", vhost=VHOSTS[ECHO])
        with WorkerProcesses(1, partial(echo.serve, url, answer)) as process:
            process.receive(START_SECONDS)
            yield

    @property
    def _gantt_parts(self) -> CloudParts:
        urls = replace(self._cloud.parts.urls, bus=self._cloud.rabbit.url(driver="rabbit", vhost=VHOSTS[OURS]))
        return replace(self._cloud.parts, urls=urls)

    @property
    def _nova_parts(self) -> CloudParts:
        parts = self._cloud.parts
        port = parts.ports[THEIR_PLACEMENT]
        return replace(
            parts,
            size=replace(parts.size, placement="placement", scheduler="nova"),
            etc=private_folder(parts.etc / THEIRS),
            ports={**parts.ports, "placement": port},
            urls=replace(parts.urls, placement=f"http://{LOOPBACK}:{port}"),
        )

    @property
    def _gantt_settings(self) -> Path:
        settings = self._cloud.layout.etc / "gantt-nova.conf"
        write_private(settings, GANTT_SETTINGS)
        return settings

    def _api(self, name: str) -> CloudPlacementClient:
        return self._cloud.placement if name == OURS else CloudPlacementClient(self._nova_parts.urls.placement)

    def _peer(self, script: str) -> PeerProcess:
        return self._cleanup.enter_context(side.running(side.program(script)))

    def _wait_served(self, name: str) -> None:
        """Wait until a scheduler consumes a side's queue, because earlier calls are lost."""
        rabbit = self._cloud.rabbit
        credentials = {"userid": ADMIN, "password": rabbit.passwords.of(ADMIN), "virtual_host": VHOSTS[name]}

        def is_read() -> bool:
            try:
                with amqp.Connection(host=f"{LOOPBACK}:{rabbit.ports.amqp}", **credentials) as connection:
                    queue = connection.channel().queue_declare(echo.TOPIC, passive=True)
                    return bool(queue.consumer_count)
            except amqp.NotFound:
                return False

        wait_until(is_read, f"the scheduler of {name}", START_SECONDS)

    @staticmethod
    def _wait_idle(*processes: ServerProcess) -> None:
        pids = [process.pid for process in processes if process.pid is not None]
        deadline = time.monotonic() + IDLE_SECONDS
        before, busy = cpu_seconds(pids), True
        while busy and time.monotonic() < deadline:
            time.sleep(1)
            after = cpu_seconds(pids)
            busy, before = after - before > IDLE_SHARE, after


def running() -> contextlib.AbstractContextManager[PairedCloud]:
    return started(PairedCloud, PairedCloud.start, PairedCloud.close)


def _with_settings(daemon: Daemon, settings: Path) -> Daemon:
    return replace(daemon, command=[*daemon.command, "--config-file", str(settings)])


def _count(store: RedisStore) -> int:
    return sum(1 for _ in paging.entries(lambda marker: store.list_state(NAMESPACE, marker=marker)))
