# SPDX-License-Identifier: Apache-2.0
"""The embedded bus on green threads."""

import subprocess
import sys

import pytest

from tests.contract.embedded.processes import Processes
from tests.support.bus.bus_peer import Peers


@pytest.mark.timeout(300)
def test_transport_suite_passes_on_green_threads() -> None:
    """Run the transport suite in a process with green threads."""
    suite = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "-k", "embedded", "tests/contract/test_transport.py"]
    process = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.contract.green_pytest", *suite],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    assert " passed" in process.stdout


def test_processes_with_green_and_real_threads_communicate(peers: Peers, processes: Processes) -> None:
    green = processes.server(peers, "green", executor="eventlet")
    client = peers.client()
    assert client.call({}, "who") == "green"
    client.prepare(fanout=True).cast({}, "note", value=1)
    assert processes.said(green) == "note 1"
