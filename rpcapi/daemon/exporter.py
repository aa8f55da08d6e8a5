# SPDX-License-Identifier: Apache-2.0
"""Exporter process of all workers' metrics, separate so that slow scrapers cannot block the master."""

import socket
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING
from wsgiref.types import StartResponse, WSGIEnvironment

from rpcapi import errors

if TYPE_CHECKING:
    from rpcapi.daemon.http_listener import HttpServer


THREADS = 4
SHUTDOWN_SECONDS = 1  # scrapers repeat unfinished scrapes


def bind(listen: str) -> socket.socket:
    """Return a socket that listens on ``host:port`` or ``[IPv6]:port``. Raises BadConfiguration."""
    host, _, port = listen.rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise errors.BadConfiguration(why=f"[metrics] listen = '{listen}' is not host:port or [IPv6]:port")
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host.strip("[]"), int(port), type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        return socket.create_server(address[:2], family=family, backlog=16)
    except OSError as exc:
        raise errors.BadConfiguration(why=f"[metrics] listen = '{listen}' cannot be bound: {exc}") from exc


def make_exporter(listener: socket.socket, folder: Path, workers: int) -> "HttpServer":
    # The master must not import these, see metrics_folder.use().
    from prometheus_client import CollectorRegistry, make_wsgi_app  # noqa: PLC0415

    from rpcapi.daemon.http_listener import HttpServer  # noqa: PLC0415
    from rpcapi.daemon.process_figures import DaemonProcesses, WorkerMetrics  # noqa: PLC0415

    registry = CollectorRegistry()
    recorded = WorkerMetrics(folder)
    registry.register(recorded)
    processes = DaemonProcesses(recorded, workers)
    registry.register(processes)
    metrics = make_wsgi_app(registry)

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/healthz":
            return _text("200 OK", "ok", start_response)
        if environ["PATH_INFO"] == "/readyz":
            serving, obstacles = len(processes.serving()), processes.obstacles()
            status = "200 OK" if serving >= workers and not obstacles else "503 Service Unavailable"
            return _text(status, "; ".join([f"{serving} of {workers} workers serve", *obstacles]), start_response)
        answered: Iterable[bytes] = metrics(environ, start_response)
        return answered

    host, port, *_ = listener.getsockname()
    return HttpServer(answer, host, port, THREADS, max_body=1, shutdown_s=SHUTDOWN_SECONDS, listening=listener)


def _text(status: str, text: str, start_response: StartResponse) -> Iterable[bytes]:
    body = f"{text}\n".encode()
    start_response(status, [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))])
    return [body]
