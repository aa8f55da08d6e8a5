# SPDX-License-Identifier: Apache-2.0
"""OpenStack Placement on a database server, served over HTTP by its own processes."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from peer_wire import serve
from placement_side import PlacementPeer

WORKER = Path(__file__).with_name("placement_http_worker.py")


class PlacementOverHttp:
    """Placement's database and its server processes, which end with this process."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._workers: list[subprocess.Popen[bytes]] = []
        self._application: PlacementPeer | None = None

    def prepare(self, connection: str, providers: Sequence[Mapping[str, Any]]) -> str:
        """Create missing tables, replace the providers, and return Placement's version."""
        if self._application is None:
            self._application = PlacementPeer(self._folder, connection)
        return self._application.load(providers)

    def serve_http(self, port: int, workers: int) -> list[int]:
        """Serve on a loopback port by this many processes, and return their ids."""
        command = [sys.executable, "-s", str(WORKER), str(self._folder / "placement.conf"), str(port)]
        for _ in range(workers):
            pipe = subprocess.PIPE
            self._workers.append(subprocess.Popen(command, stdin=pipe, stdout=pipe))  # noqa: S603 - a fixed command
        for worker in self._workers:
            if worker.stdout is None or worker.stdout.readline() != b"ready\n":
                raise RuntimeError(f"a process of Placement ended with {worker.wait()} while it was starting")
        return [worker.pid for worker in self._workers]


if __name__ == "__main__":
    placement = PlacementOverHttp(Path(sys.argv[1]))
    serve({"prepare": placement.prepare, "serve_http": placement.serve_http})
