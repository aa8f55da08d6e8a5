# SPDX-License-Identifier: Apache-2.0
"""How far daemons are behind, by pages of metrics, whatever a daemon answers."""

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from devstack.servers.ports import LOOPBACK, free_port
from rpcapi.dashboard import exporters
from rpcapi.dashboard.exporters import Exporters, ReplicaLag

PAGE = """# TYPE gantt_replica_lag_entries gauge
gantt_replica_lag_entries{partition="p2",pid="0"} 7
gantt_replica_lag_entries{partition="p1",pid="1"} 3
gantt_replica_lag_entries{partition="p1",pid="0"} 0
# TYPE gantt_replica_silence_seconds gauge
gantt_replica_silence_seconds{partition="p1",pid="0"} 0.5
# TYPE gantt_replica_epoch gauge
gantt_replica_epoch{partition="p1",pid="0"} 42
"""


@pytest.fixture
def daemon() -> Iterator[http.server.HTTPServer]:
    """A daemon whose metrics are the attribute ``page``."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(self.server.page.encode())

        def log_message(self, *arguments: object) -> None:
            """Log nothing."""

    server = http.server.ThreadingHTTPServer((LOOPBACK, 0), Handler)
    server.page = PAGE
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def replica_lags(*ports: int) -> list[ReplicaLag]:
    return list(Exporters([f"http://{LOOPBACK}:{port}/metrics" for port in ports], 1).replica_lags.get())


def test_each_partition_of_a_worker_is_an_entry(daemon: http.server.HTTPServer) -> None:
    name = f"{LOOPBACK}:{daemon.server_port}"

    assert replica_lags(daemon.server_port) == [
        ReplicaLag(name, "0", "p1", 0, 0.5, 42),
        ReplicaLag(name, "0", "p2", 7),
        ReplicaLag(name, "1", "p1", 3),
    ]


def test_daemon_that_does_not_answer_is_named_and_hides_no_other(daemon: http.server.HTTPServer) -> None:
    missing = free_port()

    first, *others = replica_lags(missing, daemon.server_port)

    assert first.daemon == f"{LOOPBACK}:{missing}"
    assert "Connection refused" in first.why
    assert len(others) == 3


@pytest.mark.parametrize(
    ("page", "why"), [("", "it exports nothing about a replica"), ("gantt_replica_lag_entries{", "")]
)
def test_page_without_figures_is_named(daemon: http.server.HTTPServer, page: str, why: str) -> None:
    daemon.page = page

    (entry,) = replica_lags(daemon.server_port)

    assert entry.why
    assert why in entry.why


def test_server_that_does_not_speak_http_is_named() -> None:
    with socket.create_server((LOOPBACK, 0)) as other:
        port = other.getsockname()[1]

        def answer() -> None:
            connection, _ = other.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"AMQP\x00\x00\x09\x01\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        (entry,) = replica_lags(port)

    assert entry.why


def test_large_page_is_refused(daemon: http.server.HTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporters, "MAX_PAGE", 100)

    (entry,) = replica_lags(daemon.server_port)

    assert entry.why == "its page of metrics has more than 100 bytes"
