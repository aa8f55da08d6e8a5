# SPDX-License-Identifier: Apache-2.0
"""One address serves the sum over all workers, also after one died."""

import os
import re
import signal
import socket
import urllib.request

from tests.unit.rpcapi.daemon.conftest import ToyDaemon


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def scrape(port: int) -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        return {name: float(value) for name, value in re.findall(r"^(\w+) (\S+)$", answer.read().decode(), re.M)}


def test_metrics_are_summed_and_gauges_of_a_dead_worker_dropped(toy: ToyDaemon, executor: str) -> None:
    port = free_port()
    toy.begin(workers=2, executor=executor, metrics=f"listen = 127.0.0.1:{port}")
    assert scrape(port) == {"gantt_toy_served_total": 2, "gantt_toy_load": 4}

    os.kill(toy.events("start")[0][2], signal.SIGKILL)

    toy.await_events("start", 3)
    assert scrape(port) == {"gantt_toy_served_total": 3, "gantt_toy_load": 4}
