# SPDX-License-Identifier: Apache-2.0
"""Private cluster of real daemons, and the base class of benchmarks that measure one on each bus."""

import abc
import argparse
import contextlib
import os
import signal
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from devstack import confs, exercise
from devstack.cluster import DevstackCluster, inherited_environment
from devstack.cluster_size import ClusterSize, Mode
from devstack.deploy.users.folder import write_private
from devstack.deploy.users.redis_users import ADMIN
from devstack.lab.benchmark import Benchmark, option
from devstack.lab.private_servers import started
from devstack.lab.rows import ResultRow
from devstack.servers.errors import ServerError
from devstack.servers.ports import LOOPBACK
from devstack.servers.process import ServerProcess, stop_together
from devstack.servers.redis import AppendFsync
from rpcapi.admin.session import Session

DAEMONS = ("scheduler", "conductor", "compute")
AGENT = "compute"
MODES = {"rabbit": Mode.STANDARD, "embedded": Mode.EMBEDDED}
START_SECONDS = 60.0
STOP_SECONDS = 5.0
READY_SECONDS = 120.0
BOOT_SECONDS = 120.0
SCRAPE_INTERVAL = 15.0  # seconds, usual in deployments
INSTANT_BOOTS = {"compute": {"simulator": {"boot_delay": 0, "boot_delay_spread": 0}}}
READY = " Ready: "  # logged by a daemon's master process when all workers serve
LONG_SECONDS = 86_400  # no claim expires and no host counts as down during the measurement
# Nothing confirms the measurement's claims, and no agent reports.
LONG_TIMEOUTS: confs.Groups = {"scheduler": {"claim_ttl": LONG_SECONDS}, "store": {"service_down_time": LONG_SECONDS}}
SCHEDULERS = option("--schedulers", "Workers", default=2)


class PrivateCluster(DevstackCluster):
    """Cluster in a temporary folder, whose daemons are started individually."""

    def __init__(
        self, folder: Path, size: ClusterSize, fsync: AppendFsync, overrides: Mapping[str, confs.Groups]
    ) -> None:
        durable = {"store": {"durability": "always" if fsync == "always" else "everysec"}}
        scheduler = confs.merge(overrides.get("scheduler", {}), durable)
        super().__init__(folder, size, {**overrides, "scheduler": scheduler})
        self.store.appendonly = fsync
        self._echo = ServerProcess("the lab's echo", folder / "echo.pid", folder / "log" / "echo.log")

    @property
    def bus_url(self) -> str:
        if self.rabbit is not None:
            return self.rabbit.url()
        assert self.bus is not None  # noqa: S101 - a cluster has one of the two
        return self.bus.bus_url(ADMIN.name)

    @property
    def store_url(self) -> str:
        return self.store.url("scheduler")

    def start_servers(self) -> None:
        self.layout.make()
        super().start_servers()
        self.write_confs()

    def start_echo(self, workers: int) -> None:
        file = self.layout.etc / "echo.conf"
        start_echo(self._echo, file, self.bus_url, self.size.executor, workers=workers)

    def set_workers(self, schedulers: int, executor: str, *, metrics_port: int | None = None) -> None:
        self.size = replace(self.size, schedulers=schedulers, executor=executor)
        listen = f"{LOOPBACK}:{metrics_port}" if metrics_port is not None else ""
        scheduler = confs.merge(self.overrides["scheduler"], {"metrics": {"listen": listen}})
        self.overrides = {**self.overrides, "scheduler": scheduler}
        self.write_confs()

    def run_daemon(self, name: str) -> int:
        """Start a daemon, and return its process id when all its workers serve. Raises ServerNotReady."""
        daemon = self.daemons[name]
        _start_and_wait(daemon, lambda: self.start_daemon(name))
        if daemon.pid is None:
            raise ServerError(f"gantt-{name} ended; see {daemon.log}.")
        return daemon.pid

    @contextlib.contextmanager
    def paused_daemon(self, name: str) -> Iterator[None]:
        group = self.daemons[name].group
        if group is None:
            raise ServerError(f"gantt-{name} is not running, so it cannot be paused.")
        os.killpg(group, signal.SIGSTOP)
        try:
            yield
        finally:
            os.killpg(group, signal.SIGCONT)

    def start_agent(self, name: str, hosts: Sequence[str]) -> None:
        """Start an additional agent for ``hosts``; after a kill it starts again with its guests."""
        layout = self.layout
        own = {"compute": {"hosts": ",".join(hosts), "state_path": layout.state / name}}
        write_private(layout.conf(name), confs.text(own))  # takes precedence over the file of the cluster's agent
        self.commands[name] = [*self.commands[AGENT], f"--config-file={layout.conf(AGENT)}"]
        self.environment[name] = {}
        self.daemons[name] = ServerProcess(f"agent {name}", layout.pid_file(name), layout.log_file(name))
        self.run_daemon(name)

    def stop_daemons(self) -> None:
        stop_together([*self.daemons.values(), self._echo], STOP_SECONDS)

    def close(self) -> None:
        """Stop everything. Kill the servers, because their data is no longer needed."""
        self.stop_daemons()
        self.store.kill()
        if self.bus is not None:
            self.bus.kill()
        if self.rabbit is not None:
            self.rabbit.kill()
            self.rabbit.stop()


def start_echo(daemon: ServerProcess, file: Path, url: str, executor: str, *, workers: int) -> None:
    groups: confs.Groups = {
        "DEFAULT": {"transport_url": url, "executor": executor},
        "echo": {"workers": workers},
    }
    write_private(file, confs.text(groups))
    command = [sys.executable, "-m", "devstack.lab.rpc.echo", "--config-file", str(file)]
    _start_and_wait(daemon, lambda: daemon.spawn(command, inherited_environment(), file.parent))


def _start_and_wait(daemon: ServerProcess, start: Callable[[], None]) -> None:
    daemon.log.unlink(missing_ok=True)  # an earlier daemon's messages must not be read
    start()
    daemon.wait_ready(lambda: READY in daemon.log.read_text(errors="replace"), START_SECONDS)


def running(
    size: ClusterSize, fsync: AppendFsync = "everysec", overrides: Mapping[str, confs.Groups] | None = None
) -> contextlib.AbstractContextManager[PrivateCluster]:
    return started(
        lambda folder: PrivateCluster(folder, size, fsync, overrides or {}),
        PrivateCluster.start_servers,
        PrivateCluster.close,
    )


@contextlib.contextmanager
def booted(
    size: ClusterSize, overrides: Mapping[str, confs.Groups], nodes: int | None = None
) -> Iterator[tuple[PrivateCluster, Session]]:
    """Start a cluster with its daemons; yield it with a session when ``nodes`` (default: all) accept claims."""
    with (
        running(size, overrides=overrides) as private_cluster,
        contextlib.closing(Session([str(private_cluster.client_conf)])) as session,
    ):
        for name in DAEMONS:
            private_cluster.run_daemon(name)
        wait_for_nodes(session, size.nodes if nodes is None else nodes)
        yield private_cluster, session


def wait_for_nodes(session: Session, nodes: int) -> None:
    exercise.wait_for_nodes(session, nodes, READY_SECONDS, lambda ready_nodes: None)


@contextlib.contextmanager
def scraping(port: int) -> Iterator[None]:
    """Scrape a loopback port now, then every SCRAPE_INTERVAL. Raises OSError if the first scrape fails."""
    stopping = threading.Event()

    def repeat() -> None:
        while not stopping.wait(SCRAPE_INTERVAL):
            with contextlib.suppress(OSError):
                scrape(port)

    scrape(port)
    scraper = threading.Thread(target=repeat, name="scraping", daemon=True)
    scraper.start()
    try:
        yield
    finally:
        stopping.set()
        scraper.join()


def scrape(port: int) -> bytes:
    with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=SCRAPE_INTERVAL) as answer:
        page: bytes = answer.read()
    return page


def buses(text: str) -> Sequence[str]:
    return list(MODES) if text == "both" else [text]


class ClusterBenchmark(Benchmark):
    """Benchmark of a private cluster on each bus of ``--bus``."""

    DEFAULT_BUS: ClassVar[str] = "embedded"

    def get_parser(self, prog_name: str) -> argparse.ArgumentParser:
        parser = super().get_parser(prog_name)
        parser.add_argument(
            "--bus", choices=[*MODES, "both"], default=self.DEFAULT_BUS, help="Message bus (%(default)s)."
        )
        return parser

    @abc.abstractmethod
    def measure_cluster(self, bus: str, args: argparse.Namespace) -> Iterator[ResultRow]:
        """Measure on one bus, and yield the rows."""

    def measure(self, args: argparse.Namespace) -> Iterator[ResultRow]:
        for bus in buses(args.bus):
            yield from self.measure_cluster(bus, args)

    @staticmethod
    def size(bus: str, args: argparse.Namespace, hosts: int, nodes_per_host: int = 10) -> ClusterSize:
        return ClusterSize(MODES[bus], hosts, nodes_per_host, args.schedulers)
