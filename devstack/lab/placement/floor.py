# SPDX-License-Identifier: Apache-2.0
"""The least that any implementation costs: gantt-placement's HTTP server with an application that does nothing.

As a program: ``python -m devstack.lab.placement.floor PORT FILE``. It answers each GET with the content of FILE, and
every other request with 204 after it has read its body.
"""

import contextlib
import signal
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from cheroot import wsgi

from devstack.servers.ports import answers, free_port
from devstack.servers.process import ServerProcess

THREADS = 4
IDLE_SECONDS = 3600  # a connection waits while others are measured
START_SECONDS = 60.0


@contextlib.contextmanager
def running(body: bytes) -> Iterator[int]:
    """Start a process that answers ``body``, and yield its port; raises ServerError."""
    with tempfile.TemporaryDirectory(prefix="gantt-lab-") as name:
        folder, port = Path(name), free_port()
        content = folder / "body"
        content.write_bytes(body)
        process = ServerProcess("floor", folder / "floor.pid", folder / "floor.log")
        command = [sys.executable, "-m", __spec__.name, str(port), str(content)]
        process.start(command, folder, lambda: answers(port), START_SECONDS)
        try:
            yield port
        finally:
            process.kill()


def application(body: bytes) -> Any:
    """Return the WSGI application."""
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
    """Serve until SIGTERM."""
    port, path = arguments
    server = wsgi.Server(
        ("127.0.0.1", int(port)), application(Path(path).read_bytes()), numthreads=THREADS, timeout=IDLE_SECONDS
    )
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    server.start()


if __name__ == "__main__":
    main(sys.argv[1:])
