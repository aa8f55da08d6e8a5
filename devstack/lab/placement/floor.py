# SPDX-License-Identifier: Apache-2.0
"""Floor of any implementation: gantt-placement's HTTP server with an application that does nothing."""

import contextlib
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from devstack.lab.worker_processes import PipeEnd, WorkerProcesses
from devstack.servers.ports import LOOPBACK, free_port
from scheduler_svc.placement.http.server import make_server

THREADS = 4  # the default of [placement] threads
SHUTDOWN_SECONDS = 5
START_SECONDS = 60.0


@contextlib.contextmanager
def running(body: bytes, workers: int) -> Iterator[int]:
    """Serve ``body`` by several processes on one port, and yield the port. Raises CommandFailed."""
    port = free_port()
    with WorkerProcesses(workers, partial(_serve, body, port)) as processes:
        processes.receive(START_SECONDS)
        yield port


def _serve(body: bytes, port: int, pipe: PipeEnd, index: int) -> None:
    make_server(application(body), LOOPBACK, port, THREADS, shutdown_s=SHUTDOWN_SECONDS).start()
    pipe.send(None)
    pipe.poll(None)  # Wait until the parent ends this process.


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
