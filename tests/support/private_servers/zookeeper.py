# SPDX-License-Identifier: Apache-2.0
"""Private ZooKeeper in a run folder, on a loopback port."""

import shutil
import socket
from pathlib import Path

from devstack.deploy.users.folder import private_folder, write_private
from devstack.servers.errors import BinaryMissing
from devstack.servers.ports import LOOPBACK, free_port, require_free
from devstack.servers.server import SYSTEM_PATH, PrivateServer

CLASSES = Path("/usr/share/java/zookeeper.jar")  # its manifest lists all other required archives
MAIN = "org.apache.zookeeper.server.ZooKeeperServerMain"
TICK_MS = 500  # session timeouts are 2 to 20 ticks
START_SECONDS = 60.0


def zookeeper_classes() -> Path:
    if not CLASSES.exists() or shutil.which("java", path=SYSTEM_PATH) is None:
        raise BinaryMissing("No ZooKeeper was found: install Debian's package (`apt-get install zookeeper`).")
    return CLASSES


class ZooKeeperServer(PrivateServer):
    """ZooKeeper server; configuration, data and log are in `folder` (mode 0700). Sessions survive restarts."""

    def __init__(self, folder: Path, *, port: int | None = None, name: str = "zookeeper") -> None:
        super().__init__(folder, "zookeeper", name)
        self.port = port or free_port()

    def start(self) -> None:
        self._process.require_stopped()
        classes = zookeeper_classes()
        private_folder(self.folder)
        require_free(self.port, self.name)
        write_private(self.folder / "zoo.cfg", self._configuration())
        java = shutil.which("java", path=SYSTEM_PATH) or "java"
        command = [java, "-Xmx128m", "-XX:+UseSerialGC", "-cp", str(classes), MAIN, str(self.folder / "zoo.cfg")]
        self._process.start(command, self.folder, self._answers, START_SECONDS)

    def url(self) -> str:
        """Return the URL in the form of [service_group] backend_url."""
        return f"zookeeper://{LOOPBACK}:{self.port}"

    def _answers(self) -> bool:
        try:
            with socket.create_connection((LOOPBACK, self.port), timeout=1) as probe:
                probe.settimeout(1)
                probe.sendall(b"ruok")
                return probe.recv(16) == b"imok"
        except OSError:
            return False

    def _configuration(self) -> str:
        lines = [
            f"dataDir={self.folder / 'data'}",
            f"clientPortAddress={LOOPBACK}",
            f"clientPort={self.port}",
            f"tickTime={TICK_MS}",
            "admin.enableServer=false",
            "4lw.commands.whitelist=ruok",
            "maxClientCnxns=0",
        ]
        return "\n".join([*lines, ""])
