# SPDX-License-Identifier: Apache-2.0
"""Boots servers while something else happens."""

import subprocess
import threading
from types import TracebackType
from typing import Self

from tests.functional.systemd.cluster import boot
from tests.functional.systemd.machine import Machine


class Caller(threading.Thread):
    """Boots one server after the other until it is ended; ``failures`` are what did not become ACTIVE."""

    def __init__(self, machine: Machine) -> None:
        super().__init__(daemon=True)
        self._machine = machine
        self._ended = threading.Event()
        self.boots, self.failures, self._servers = 0, list[str](), list[str]()

    def run(self) -> None:
        while not self._ended.is_set():
            try:
                self._servers += boot(self._machine, 1)
            except (AssertionError, subprocess.TimeoutExpired) as failure:
                self.failures.append(str(failure))
            self.boots += 1

    def end(self) -> None:
        self._ended.set()
        self.join()

    def __enter__(self) -> Self:
        """Start, and return after the first boot."""
        self.start()
        self.await_boots(1)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End, and delete the servers, so that their host has capacity for others."""
        self.end()
        self._machine.run("gantt", "server", "delete", "--wait", *self._servers)

    def await_boots(self, count: int) -> None:
        """Wait for so many more boots."""
        boots = self.boots + count
        self._machine.eventually(lambda: self.boots >= boots, f"{count} boots")
