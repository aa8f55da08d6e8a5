# SPDX-License-Identifier: Apache-2.0
"""Real processes on the bus, to be killed."""

import json
import signal
import subprocess
import sys
from typing import Any

from tests.contract.bus_peer import Peers
from tests.contract.embedded.settings import QUICK


class Processes:
    """Real processes on the bus."""

    def __init__(self) -> None:
        self._made: list[subprocess.Popen[str]] = []

    def start(self, peers: Peers, role: str, first_line: str, **wanted: Any) -> subprocess.Popen[str]:
        """Start one, and return when it said its first line."""
        what = {"role": role, "url": peers.url, "topic": peers.topic, "options": QUICK, **wanted}
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.contract.bus_process", json.dumps(what)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._made.append(process)
        assert self.said(process) == first_line
        return process

    def server(self, peers: Peers, name: str, **wanted: Any) -> subprocess.Popen[str]:
        return self.start(peers, "server", "ready", name=name, **wanted)

    @staticmethod
    def said(process: subprocess.Popen[str]) -> str:
        """The next line."""
        assert process.stdout is not None
        return process.stdout.readline().strip()

    @staticmethod
    def kill(process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    def kill_all(self) -> None:
        for process in self._made:
            self.kill(process)
            assert process.stdout is not None
            process.stdout.close()
