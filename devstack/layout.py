# SPDX-License-Identifier: Apache-2.0
"""Run folder of a cluster: the paths of its files."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devstack.deploy.users.errors import FolderUnusable
from devstack.deploy.users.folder import private_folder, require_own, write_private
from devstack.servers.process import ServerProcess

DAEMONS = ("scheduler", "conductor", "compute")
# Optional HTTP API, which uses no bus.
PLACEMENT = "placement"
PUBLISHER = "publisher"
DASHBOARD = "dashboard"
# Optional simulated services, and the bus user of each.
SIMULATED_DAEMONS = {"volume": "compute", "network": "compute", PUBLISHER: "operator"}
CLIENT = "client"
# Commands of the run folder's owner are an operator's.
BUS_USERS = {**SIMULATED_DAEMONS, CLIENT: "operator", DASHBOARD: "reader"}


class ClusterRecordBroken(FolderUnusable):
    """Raised when the record of a run folder's cluster is unreadable."""


def default_folder() -> Path:
    """Return the user's run folder, whose path is short because it contains Unix sockets."""
    configured = os.environ.get("GANTT_RUN")
    return Path(configured) if configured else Path(tempfile.gettempdir()) / f"gantt-{os.getuid()}"


class Layout:
    """Paths of the files and folders in one run folder (mode 0700)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.bus = self.folder / "bus"
        self.rabbit = self.folder / "rabbitmq"
        self.store = self.folder / "store"
        self.etc = self.folder / "etc"
        self.log = self.folder / "log"
        self.state = self.folder / "state"
        self._record_file = self.folder / "cluster.json"
        # The stack.sh process that starts this cluster, as long as it runs.
        self.starter = ServerProcess("stack.sh", self.pid_file("stack"), self.log_file("stack"))

    def make(self) -> None:
        for folder in (self.folder, self.etc, self.log, self.state):
            private_folder(folder)

    def conf(self, name: str) -> Path:
        return self.etc / ("gantt.conf" if name == CLIENT else f"{name}.conf")

    @property
    def prometheus_conf(self) -> Path:
        return self.etc / "prometheus.yml"

    def pid_file(self, daemon: str) -> Path:
        return self.folder / f"{daemon}.pid"

    def log_file(self, daemon: str) -> Path:
        return self.log / f"{daemon}.log"

    @property
    def present(self) -> bool:
        """Whether the folder exists. Raises FolderUnusable if others own it or may write to it."""
        return require_own(self.folder)

    @property
    def cluster_record(self) -> Any:
        if not self.present:
            return None
        try:
            return json.loads(self._record_file.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as why:
            raise self.cluster_record_error(why) from why

    def cluster_record_error(self, why: object) -> ClusterRecordBroken:
        return ClusterRecordBroken(
            f"{self._record_file} describes no cluster ({why}). Run unstack.sh, which stops its processes and removes "
            f"the folder, then stack.sh again."
        )

    def foreign_files(self) -> list[str]:
        ours = {
            path.name for path in (self.bus, self.rabbit, self.store, self.etc, self.log, self.state, self._record_file)
        }
        processes = (*DAEMONS, *SIMULATED_DAEMONS, PLACEMENT, DASHBOARD, "stack")
        ours |= {self.pid_file(process).name for process in processes}
        # A killed writer leaves a temporary file that is named after its target.
        return sorted(
            path.name
            for path in self.folder.iterdir()
            if path.name not in ours and path.stem.removeprefix(".") not in ours
        )

    def remove(self) -> None:
        """Remove the folder. Raises FolderUnusable if a part of it could not be removed."""
        if self.present:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.present:
            raise FolderUnusable(f"Something in the run folder {self.folder} could not be removed; remove it by hand.")

    def write_cluster_record(self, values: Mapping[str, Any]) -> None:
        write_private(self._record_file, json.dumps(values, indent=1))
