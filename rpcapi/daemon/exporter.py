# SPDX-License-Identifier: Apache-2.0
"""Serves the sum of all workers' metrics to Prometheus, and whether the daemon serves, in a separate process.

``/healthz`` answers 200 while the daemon runs, ``/readyz`` while all its workers serve, else 503; any other path the
metrics.

A separate process keeps slow scrapers and threads out of the master. The master binds the address,
so that a bad one is reported at start, and stays bound when this process is respawned.
"""

import socket
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rpcapi import errors

if TYPE_CHECKING:
    from rpcapi.daemon.process_figures import DaemonProcesses

REQUEST_SECONDS = 10


def bind(listen: str) -> socket.socket:
    """Return a listening socket on ``host:port`` or ``[IPv6]:port``.

    Raises BadConfiguration for an invalid address, or one that cannot be bound.
    """
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


class Exporter:
    """A service of the daemon framework that answers GET with the metrics in ``folder``."""

    def __init__(self, listener: socket.socket, folder: Path, workers: int) -> None:
        # Imported in this process only: the master must not import it, see metrics_folder.use_folder().
        from prometheus_client import CollectorRegistry  # noqa: PLC0415

        from rpcapi.daemon.process_figures import DaemonProcesses  # noqa: PLC0415
        from rpcapi.daemon.worker_metrics import WorkerMetrics  # noqa: PLC0415

        registry = CollectorRegistry()
        recorded = WorkerMetrics(folder)
        registry.register(recorded)
        processes = DaemonProcesses(recorded, workers)
        registry.register(processes)
        self._server = ThreadingHTTPServer(
            listener.getsockname()[:2], _handler(registry, processes), bind_and_activate=False
        )
        self._server.socket.close()
        self._server.socket = listener
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), name="exporter", daemon=True)

    def start(self) -> None:
        """Start serving."""
        self._thread.start()

    def stop(self) -> None:
        """Stop serving."""
        self._server.shutdown()

    def wait(self) -> None:
        """Return when the server loop has ended; an unfinished scrape is repeated by the scraper."""
        self._thread.join()

    def reset(self) -> None:
        """Do nothing: address and folder are fixed at start."""


def _handler(registry: Any, processes: "DaemonProcesses") -> type[Any]:
    """Return the class of the server's requests."""
    from prometheus_client.exposition import MetricsHandler  # noqa: PLC0415

    class Handler(MetricsHandler.factory(registry)):  # type: ignore[misc]
        timeout = REQUEST_SECONDS

        def do_GET(self) -> None:  # noqa: N802 - the name that http.server calls
            """Answer a probe, or send the metrics."""
            match urlsplit(self.path).path:
                case "/healthz":
                    self._answer(200, "ok")
                case "/readyz":
                    serving = len(processes.serving())
                    status = 200 if serving >= processes.workers else 503
                    self._answer(status, f"{serving} of {processes.workers} workers serve")
                case _:
                    super().do_GET()

        def _answer(self, status: int, text: str) -> None:
            body = f"{text}\n".encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    return Handler
