# SPDX-License-Identifier: Apache-2.0
"""Processes on the bus that tests can kill."""

import json
import signal
import subprocess
import sys
from typing import Any

from tests.support.bus.bus_peer import Peers
from tests.support.bus.settings import QUICK


class Processes:
    """Starts, reads and kills processes on the bus."""

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[str]] = []

    def start(self, peers: Peers, role: str, first_line: str, **settings: Any) -> subprocess.Popen[str]:
        """Start a process and return after its first line."""
        arguments = {"role": role, "url": peers.url, "topic": peers.topic, "options": QUICK, **settings}
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.support.bus.bus_process", json.dumps(arguments)],
            stdout=subprocess.PIPE,
            text=True,
        )
        self._processes.append(process)
        assert self.said(process) == first_line
        return process

    def server(self, peers: Peers, name: str, **settings: Any) -> subprocess.Popen[str]:
        return self.start(peers, "server", "ready", name=name, **settings)

    @staticmethod
    def said(process: subprocess.Popen[str]) -> str:
        """Return the next line of output."""
        assert process.stdout is not None
        return process.stdout.readline().strip()

    @staticmethod
    def kill(process: subprocess.Popen[str]) -> None:
        process.send_signal(signal.SIGKILL)
        process.wait()

    def kill_all(self) -> None:
        for process in self._processes:
            self.kill(process)
            assert process.stdout is not None
            process.stdout.close()
