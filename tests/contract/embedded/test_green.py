# SPDX-License-Identifier: Apache-2.0
"""The bus on green threads."""

import subprocess
import sys

import pytest

from tests.contract.bus_peer import Peers
from tests.contract.embedded.processes import Processes


@pytest.mark.timeout(300)
def test_the_protocol_holds_on_green_threads() -> None:
    """The transport suite once more, in a process whose threads are green."""
    suite = ["-q", "-p", "no:cacheprovider", "-k", "embedded", "tests/contract/test_transport.py"]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.contract.green_pytest", *suite],
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def test_green_and_real_threads_talk_to_each_other(peers: Peers, processes: Processes) -> None:
    green = processes.server(peers, "green", executor="eventlet")
    client = peers.client()
    assert client.call({}, "who") == "green"
    client.prepare(fanout=True).cast({}, "note", value=1)
    assert processes.said(green) == "note 1"
