# SPDX-License-Identifier: Apache-2.0
"""Private memcached in a run folder, on a Unix socket only."""

import os
import socket
from pathlib import Path

from devstack.deploy.users.folder import private_folder
from devstack.servers.server import PrivateServer, find_program

START_SECONDS = 20.0


def memcached_binary() -> str:
    return find_program("memcached", "memcached")


class MemcachedServer(PrivateServer):
    """Memcached with ``megabytes`` of memory, whose contents are lost when it ends."""

    STOP_SECONDS = 10.0

    def __init__(self, folder: Path, *, megabytes: int = 16, name: str = "memcached") -> None:
        super().__init__(folder, "memcached", name)
        self.megabytes = megabytes
        self.socket = self.folder / "memcached.sock"

    def start(self) -> None:
        self._process.require_stopped()
        private_folder(self.folder)
        self.socket.unlink(missing_ok=True)
        command = [memcached_binary(), "-s", str(self.socket), "-a", "0700", "-m", str(self.megabytes), "-t", "1"]
        as_root = ["-u", "root"] if os.geteuid() == 0 else []
        self._process.start([*command, *as_root], self.folder, self._answers, START_SECONDS)

    def url(self) -> str:
        """Return the URL in the form of [store] state_url."""
        return f"memcached://{self.socket}"

    def _answers(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as probe:
                probe.settimeout(1)
                probe.connect(str(self.socket))
                probe.sendall(b"version\r\n")
                return probe.recv(64).startswith(b"VERSION")
        except OSError:
            return False
