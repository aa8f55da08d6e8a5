# SPDX-License-Identifier: Apache-2.0
"""The exporter of metrics."""

import os
import re
import signal
import socket
import urllib.request

import pytest

from rpcapi import errors
from rpcapi.daemon import exporter
from tests.unit.rpcapi.daemon.conftest import ToyDaemon, eventually


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def scrape(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", answer.read().decode(), re.M)}


def startup_error(toy: ToyDaemon) -> str:
    """Return the single line that the toy printed at exit."""
    assert toy.exit_status() == 78, toy.text()
    lines = toy.text().splitlines()
    assert len(lines) == 1, lines
    assert toy.events() == []
    return lines[0]


@pytest.mark.parametrize("listen", ["9100", "localhost:", ":9100", "127.0.0.1:http", "127.0.0.1:99999"])
def test_malformed_metrics_address_is_reported(toy: ToyDaemon, listen: str) -> None:
    toy.configure(metrics=f"listen = {listen}")
    toy.start()

    assert f"[metrics] listen = '{listen}' is not host:port" in startup_error(toy)


def test_metrics_address_in_use_is_reported(toy: ToyDaemon) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other_server:
        toy.configure(metrics=f"listen = 127.0.0.1:{other_server.getsockname()[1]}")
        toy.start()

        assert "Address already in use" in startup_error(toy)


def test_killed_exporter_is_respawned(toy: ToyDaemon) -> None:
    port = free_port()
    toy.begin(metrics=f"listen = 127.0.0.1:{port}")
    exporter = int(re.findall(r"metrics exporter is process (\d+)", toy.text())[0])

    os.kill(exporter, signal.SIGKILL)

    eventually(lambda: toy.text().count("metrics exporter is process") == 2, "another exporter")
    assert scrape(port)["gantt_toy_served_total"] == 1


@pytest.mark.parametrize("listen", ["9100", "localhost:", ":9100", "127.0.0.1:http", "127.0.0.1:65536", ""])
def test_malformed_address_is_rejected(listen: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=r"is not host:port or \[IPv6\]:port"):
        exporter.bind(listen)


def test_bound_address_is_occupied_until_it_is_closed() -> None:
    with exporter.bind("127.0.0.1:0") as listener:
        port = listener.getsockname()[1]
        with pytest.raises(errors.BadConfiguration, match="cannot be bound"):
            exporter.bind(f"127.0.0.1:{port}")
