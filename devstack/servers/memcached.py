# SPDX-License-Identifier: Apache-2.0
"""Private memcached in a run folder, on a Unix socket only."""

import os
import shutil
import socket
from pathlib import Path

from devstack.deploy.users.folder import private_folder
from devstack.servers.errors import BinaryMissing
from devstack.servers.process import ServerProcess
from devstack.servers.redis_binary import SYSTEM_PATH

START_SECONDS = 20.0
STOP_SECONDS = 10.0


def memcached_binary() -> Path:
    program = shutil.which("memcached", path=SYSTEM_PATH)
    if program is None:
        raise BinaryMissing("No memcached was found: install Debian's package (`apt-get install memcached`).")
    return Path(program)


class MemcachedServer:
    """Memcached with `megabytes` of memory; socket and log are in `folder` (mode 0700)."""

    def __init__(self, folder: Path, *, megabytes: int = 16, name: str = "memcached") -> None:
        self.folder = folder.absolute()
        self.megabytes = megabytes
        self.name = name
        self.socket = self.folder / "memcached.sock"
        self._process = ServerProcess(name, self.folder / "memcached.pid", self.folder / "memcached.log")

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def start(self) -> None:
        """Start, and wait until it answers. On ServerError nothing runs."""
        self._process.require_stopped()
        private_folder(self.folder)
        self.socket.unlink(missing_ok=True)
        command = [str(memcached_binary()), "-s", str(self.socket), "-a", "0700", "-m", str(self.megabytes), "-t", "1"]
        as_root = ["-u", "root"] if os.geteuid() == 0 else []
        self._process.start([*command, *as_root], self.folder, self._answers, START_SECONDS)

    def stop(self) -> None:
        """Stop the server if it runs. Its contents are lost."""
        self._process.stop(STOP_SECONDS)

    def kill(self) -> None:
        self._process.kill()

    def url(self) -> str:
        """Return the address in the form of [store] state_url."""
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
