# SPDX-License-Identifier: Apache-2.0
"""The floor of any implementation: gantt-placement's HTTP server with an application that does nothing.

``python -m devstack.lab.placement.floor PORT FILE`` answers each GET with the content of FILE, and other requests with
204. Several of these processes share a port, as workers do.
"""

import contextlib
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from devstack.lab.interruption import serve_until_terminated
from devstack.servers.ports import free_port
from devstack.servers.process import ServerProcess
from scheduler_svc.placement.http.server import make_server

THREADS = 4  # the default of [placement] threads
SHUTDOWN_SECONDS = 5
START_SECONDS = 60.0
READY = "listening"  # what a process prints


@contextlib.contextmanager
def running(body: bytes, workers: int) -> Iterator[int]:
    """Start processes that answer ``body``, and yield their port; raises ServerError."""
    with tempfile.TemporaryDirectory(prefix="gantt-lab-") as name, contextlib.ExitStack() as stack:
        folder, port = Path(name), free_port()
        content = folder / "body"
        content.write_bytes(body)
        for number in range(workers):
            stack.callback(_start(folder, number, port, content).kill)
        yield port


def _start(folder: Path, number: int, port: int, content: Path) -> ServerProcess:
    log = folder / f"floor-{number}.log"
    process = ServerProcess(f"floor {number}", folder / f"floor-{number}.pid", log)
    command = [sys.executable, "-m", __spec__.name, str(port), str(content)]
    process.start(command, folder, lambda: READY in log.read_text(), START_SECONDS)
    return process


def application(body: bytes) -> Any:
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] == "GET":
            start_response("200 OK", headers)
            return [body]
        environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        start_response("204 No Content", [])
        return []

    return answer


def main(arguments: list[str]) -> None:
    port, path = arguments
    floor = application(Path(path).read_bytes())
    server = make_server(floor, "127.0.0.1", int(port), THREADS, shutdown_s=SHUTDOWN_SECONDS)
    serve_until_terminated(server, READY)


if __name__ == "__main__":
    main(sys.argv[1:])
