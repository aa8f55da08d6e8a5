# SPDX-License-Identifier: Apache-2.0
"""Base class of private servers: one process whose files are in a folder of mode 0700."""

import shutil
import signal
from pathlib import Path
from typing import ClassVar

from devstack.servers.errors import BinaryMissing
from devstack.servers.process import ServerProcess

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"


def find_program(program: str, package: str, name: str = "") -> str:
    """Return the path of an installed program, whatever the caller's PATH. Raises BinaryMissing."""
    path = shutil.which(program, path=SYSTEM_PATH)
    if path is None:
        raise BinaryMissing(f"No {name or program} was found: install Debian's package (`apt-get install {package}`).")
    return path


class PrivateServer:
    """Server in `folder`; pid file and log are named after `program`."""

    STOP_SECONDS: ClassVar[float] = 30.0

    def __init__(self, folder: Path, program: str, name: str) -> None:
        self.folder = folder.absolute()
        self.name = name
        self._process = ServerProcess(name, self.folder / f"{program}.pid", self.folder / f"{program}.log")

    @property
    def pid(self) -> int | None:
        return self._process.pid

    def stop(self) -> None:
        self._process.stop(self.STOP_SECONDS)

    def kill(self) -> None:
        self._process.kill()

    def pause(self) -> None:
        """Suspend the server, like on a machine that swaps; the kernel still accepts connections."""
        self._process.signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.signal(signal.SIGCONT)
