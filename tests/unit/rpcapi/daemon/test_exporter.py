# SPDX-License-Identifier: Apache-2.0
"""The exporter of metrics, and the folder of the workers' metrics."""

import os
import re
import signal
import socket
import urllib.error
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


def probe(port: int, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as why:
        return why.code, why.read().decode()


def test_daemon_is_ready_while_all_workers_serve(toy: ToyDaemon) -> None:
    port = free_port()
    toy.begin(workers=2, metrics=f"listen = 127.0.0.1:{port}")
    assert probe(port, "/healthz") == (200, "ok\n")
    assert probe(port, "/readyz") == (200, "2 of 2 workers serve\n")

    (toy.folder / "broken").touch()
    os.kill(toy.events("start")[0][2], signal.SIGKILL)
    eventually(lambda: probe(port, "/readyz") == (503, "1 of 2 workers serve\n"), "readiness to end")
    assert probe(port, "/healthz") == (200, "ok\n")

    (toy.folder / "broken").unlink()
    eventually(lambda: probe(port, "/readyz") == (200, "2 of 2 workers serve\n"), "readiness to return")


def test_worker_that_has_just_created_a_file_of_metrics_disturbs_nothing(toy: ToyDaemon) -> None:
    port = free_port()
    folder = toy.folder / "metrics"
    toy.begin(metrics=f"listen = 127.0.0.1:{port}\nfolder = {folder}")

    (folder / "gauge_liveall_7.db").touch()

    assert probe(port, "/readyz") == (200, "1 of 1 workers serve\n")
    assert scrape(port)["gantt_toy_served_total"] == 1


def test_figures_of_all_processes_are_the_kernels(toy: ToyDaemon) -> None:
    port = free_port()
    toy.begin(workers=2, metrics=f"listen = 127.0.0.1:{port}")
    _, page = probe(port, "/metrics")
    resident = dict(re.findall(r'^process_resident_memory_bytes{process="([^"]+)"} (\S+)$', page, re.M))
    assert resident.keys() == {"master", "exporter", "worker 0", "worker 1"}
    assert all(float(size) > 2**20 for size in resident.values())
    worker_ids = dict(re.findall(r'^gantt_worker_process_id{pid="(\d)"} (\S+)$', page, re.M))
    assert {index: float(pid) for index, pid in worker_ids.items()} == {
        str(index): pid for _, index, pid, _ in toy.events("start")
    }
    assert re.search(r'^gantt_build_info{python="3\.\d+\.\d+",version="\S+"} 1.0$', page, re.M)


@pytest.mark.parametrize("listen", ["9100", "localhost:", ":9100", "127.0.0.1:http", "127.0.0.1:65536", ""])
def test_malformed_address_is_rejected(listen: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=r"is not host:port or \[IPv6\]:port"):
        exporter.bind(listen)


def test_bound_address_is_occupied_until_it_is_closed() -> None:
    with exporter.bind("127.0.0.1:0") as listener:
        port = listener.getsockname()[1]
        with pytest.raises(errors.BadConfiguration, match="cannot be bound"):
            exporter.bind(f"127.0.0.1:{port}")
