# SPDX-License-Identifier: Apache-2.0
"""Private servers and real daemons for the length of a measurement, and an echo service beside them."""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from devstack import confs
from devstack.cluster import INHERITED, Cluster, Mode, Shape
from devstack.lab.interruption import held_back
from devstack.servers.folder import write_private
from devstack.servers.process import ServerProcess, stop_together
from devstack.servers.redis import Durability

MODES = {"rabbit": Mode.STANDARD, "embedded": Mode.EMBEDDED}
START_SECONDS = 60.0
STOP_SECONDS = 5.0
READY = " Ready: "  # what a daemon's master logs when every worker serves
LONG = 86_400  # seconds: no claim expires and no host falls silent while the lab runs
# A measurement's claims are neither confirmed nor reported on.
PATIENT: confs.Groups = {"scheduler": {"claim_ttl": LONG}, "store": {"service_down_time": LONG}}


class Site:
    """One cluster's servers in a temporary folder; daemons are started one by one."""

    def __init__(self, folder: Path, shape: Shape, fsync: Durability, overrides: Mapping[str, confs.Groups]) -> None:
        durable = {"store": {"durability": "always" if fsync == "always" else "everysec"}}
        scheduler = confs.merge(overrides.get("scheduler", {}), durable)
        self.cluster = Cluster(folder, shape, {**overrides, "scheduler": scheduler})
        self.cluster.store.appendonly = fsync
        self._echo = ServerProcess("gantt-lab's echo", folder / "echo.pid", folder / "log" / "echo.log")

    @property
    def bus_url(self) -> str:
        """The bus, as a user who may call and serve everything there."""
        if self.cluster.rabbit is not None:
            return self.cluster.rabbit.url()
        assert self.cluster.bus is not None  # noqa: S101 - a cluster has one of the two
        return self.cluster.bus.bus_url("bus")

    @property
    def store_url(self) -> str:
        """The store, as the scheduler's user."""
        return self.cluster.store.url("scheduler")

    def start_servers(self) -> None:
        """Start bus and store, and write the daemons' files; raises ServerError."""
        self.cluster.layout.make()
        self.cluster.start_servers()
        self.cluster.write_confs()

    def start_echo(self, workers: int) -> None:
        """Start a daemon that answers at once, on the services' executor, with so many workers."""
        layout = self.cluster.layout
        groups: confs.Groups = {
            "DEFAULT": {"transport_url": self.bus_url, "executor": self.cluster.shape.executor},
            "echo": {"workers": workers},
        }
        file = layout.etc / "echo.conf"
        write_private(file, confs.text(groups))
        inherited = {key: os.environ[key] for key in INHERITED if key in os.environ}
        command = [sys.executable, "-m", "devstack.lab.rpc_echo", "--config-file", str(file)]
        self._await_ready(self._echo, lambda: self._echo.spawn(command, inherited, layout.folder))

    def start_scheduler(self, workers: int) -> None:
        """Start gantt-scheduler with so many workers, on the hosts that have joined."""
        self.cluster.shape = replace(self.cluster.shape, schedulers=workers)
        self.cluster.write_confs()
        self.start_daemon("scheduler")

    def start_daemon(self, name: str) -> None:
        """Start one of gantt's daemons as its file says."""
        self._await_ready(self.cluster.daemons[name], lambda: self.cluster.start_daemon(name))

    def stop_daemons(self) -> None:
        """End the daemons at once: politely for a few seconds, then by force."""
        stop_together([*self.cluster.daemons.values(), self._echo], STOP_SECONDS)

    def close(self) -> None:
        """End everything; the servers without ceremony, nobody reads again what they hold."""
        self.stop_daemons()
        self.cluster.store.kill()
        if self.cluster.bus is not None:
            self.cluster.bus.kill()
        if self.cluster.rabbit is not None:
            self.cluster.rabbit.kill()
            self.cluster.rabbit.stop()

    @staticmethod
    def _await_ready(daemon: ServerProcess, start: Callable[[], None]) -> None:
        """Start a daemon and return when all its workers serve; raises NotReady."""
        daemon.log.unlink(missing_ok=True)  # what an earlier one of this name said is not this one's word
        start()
        daemon.wait_ready(lambda: READY in daemon.log.read_text(errors="replace"), START_SECONDS)


@contextlib.contextmanager
def running(
    shape: Shape, fsync: Durability = "everysec", overrides: Mapping[str, confs.Groups] | None = None
) -> Iterator[Site]:
    """Start the servers in a folder of their own, and leave nothing of them; raises ServerError."""
    remains = contextlib.ExitStack()
    try:
        with held_back():
            folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
            remains.callback(shutil.rmtree, folder, ignore_errors=True)
            site = Site(folder, shape, fsync, overrides or {})
            remains.callback(site.close)
        site.start_servers()
        yield site
    finally:
        with held_back():
            remains.close()


def buses(text: str) -> Sequence[str]:
    """Return the buses that the option's word means."""
    return list(MODES) if text == "both" else [text]
