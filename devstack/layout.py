# SPDX-License-Identifier: Apache-2.0
"""The run folder of a cluster: what lies where."""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devstack.servers.folder import private_folder, write_private

DAEMONS = ("scheduler", "conductor", "compute")
CLIENT = "client"


def default_folder() -> Path:
    """Return the user's run folder; its path is short because Unix sockets lie in it."""
    chosen = os.environ.get("GANTT_RUN")
    return Path(chosen) if chosen else Path(tempfile.gettempdir()) / f"gantt-{os.getuid()}"


class Layout:
    """Names of the files and folders below one run folder (mode 0700)."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.absolute()
        self.bus = self.folder / "bus"
        self.rabbit = self.folder / "rabbitmq"
        self.store = self.folder / "store"
        self.etc = self.folder / "etc"
        self.log = self.folder / "log"
        self.state = self.folder / "state"
        self._card = self.folder / "cluster.json"

    def make(self) -> None:
        """Make the folders; raises FolderUnusable."""
        for folder in (self.folder, self.etc, self.log, self.state):
            private_folder(folder)

    def conf(self, name: str) -> Path:
        """Return the configuration file of a daemon, or of the operator's client."""
        return self.etc / ("gantt.conf" if name == CLIENT else f"{name}.conf")

    def pid_file(self, daemon: str) -> Path:
        """Return the record of a daemon's running process."""
        return self.folder / f"{daemon}.pid"

    def log_file(self, daemon: str) -> Path:
        """Return where a daemon's output goes."""
        return self.log / f"{daemon}.log"

    @property
    def card(self) -> dict[str, Any] | None:
        """What cluster was laid out here, or None when there is none."""
        try:
            return json.loads(self._card.read_text())
        except FileNotFoundError:
            return None

    def write_card(self, values: Mapping[str, Any]) -> None:
        """Note what cluster is laid out here, for a later call and for unstack."""
        write_private(self._card, json.dumps(values, indent=1))
