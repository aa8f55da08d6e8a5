# SPDX-License-Identifier: Apache-2.0
"""The run folder of a cluster: what lies where."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devstack.servers.errors import FolderUnusable
from devstack.servers.folder import private_folder, require_own, write_private

DAEMONS = ("scheduler", "conductor", "compute")
# What simulates other services, where that is asked for, and whose rights it has on the bus.
SIMULATED = {"volume": "compute", "network": "compute", "publisher": "client"}
CLIENT = "client"


class CardBroken(FolderUnusable):
    """Raised when what a run folder tells of its cluster cannot be understood."""


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
    def present(self) -> bool:
        """Whether the folder is there; raises FolderUnusable when it is not its caller's alone."""
        return require_own(self.folder)

    @property
    def card(self) -> Any:
        """What cluster was laid out here, or None when there is none; raises FolderUnusable."""
        if not self.present:
            return None
        try:
            return json.loads(self._card.read_text())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as why:
            raise self.card_broken(why) from why

    def card_broken(self, why: object) -> CardBroken:
        """Return the error that tells of a card from which no cluster can be made."""
        return CardBroken(
            f"{self._card} tells of no cluster ({why}). Run unstack.sh, which stops what runs there and removes "
            f"the folder, then stack.sh again."
        )

    def strangers(self) -> list[str]:
        """Return the names in the folder that no cluster puts there."""
        ours = {path.name for path in (self.bus, self.rabbit, self.store, self.etc, self.log, self.state, self._card)}
        ours |= {self.pid_file(daemon).name for daemon in DAEMONS}
        # A file that was being written when its writer was killed is named after the one it was to become.
        return sorted(
            path.name
            for path in self.folder.iterdir()
            if path.name not in ours and path.stem.removeprefix(".") not in ours
        )

    def remove(self) -> None:
        """Remove the folder with all that is in it; raises FolderUnusable when something of it stays."""
        if self.present:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.present:
            raise FolderUnusable(f"Something in the run folder {self.folder} could not be removed; remove it by hand.")

    def write_card(self, values: Mapping[str, Any]) -> None:
        """Note what cluster is laid out here, for a later call and for unstack."""
        write_private(self._card, json.dumps(values, indent=1))
