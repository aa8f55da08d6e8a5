# SPDX-License-Identifier: Apache-2.0
"""Servers that some callers on a machine boot without pause, while something else happens."""

import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.functional.systemd.machine import Machine

PROGRAM = Path(__file__).with_name("boot_program.py")
UNIT = "boots"
COPY, OUTPUT = "/root/boot_program.py", "/root/boots.log"
STOP_SECONDS = 200  # a caller first ends its last boot
POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Boot:
    """A server whose boot has ended; times are Unix times in seconds."""

    server: str
    requested: float
    ended: float
    status: str


class BootLoad:
    """``callers`` boot servers on a machine, from the beginning of a ``with`` statement to its end."""

    def __init__(self, machine: Machine, callers: int) -> None:
        self._machine = machine
        self._callers = callers

    def __enter__(self) -> Self:
        self._machine.write(COPY, PROGRAM.read_text())
        self._machine.run("rm", "-f", OUTPUT)
        settings = ("--property=Environment=HOME=/root", f"--property=TimeoutStopSec={STOP_SECONDS}")
        outputs = (f"--property=StandardOutput=file:{OUTPUT}", "--property=StandardError=journal")
        program = ("/opt/gantt/bin/python", COPY, str(self._callers))
        self._machine.run("systemd-run", "--quiet", "--collect", f"--unit={UNIT}", *settings, *outputs, *program)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._machine.run("systemctl", "stop", UNIT)

    def acknowledged(self) -> dict[str, float]:
        """Return the servers that the conductors acknowledged, with the times of the requests."""
        return {words[1]: float(words[2]) for words in self._lines() if words[0] == "acknowledged"}

    def boots(self) -> list[Boot]:
        """Return the boots that have ended, in the order of their ends."""
        lines = self._lines()
        requested = {words[1]: float(words[2]) for words in lines if words[0] == "acknowledged"}
        ends = (words for words in lines if words[0] == "ended")
        return [Boot(server, requested[server], float(ended), status) for _, server, ended, status in ends]

    def failures(self) -> list[str]:
        """Return the servers that a caller could not boot or whose record was missing, each with the error."""
        return [" ".join(words[1:]) for words in self._lines() if words[0] == "failed"]

    def survivors(self) -> int:
        """Return the number of callers that ran until the end of the ``with`` statement; 0 before it."""
        return sum(int(words[1]) for words in self._lines() if words[0] == "finished")

    def await_active(self, count: int, since: float) -> list[Boot]:
        """Wait for so many servers that were requested after a time and became ACTIVE; return all of these.

        Raises AssertionError if a caller failed.
        """

        def active() -> list[Boot]:
            time.sleep(POLL_SECONDS)
            assert self.failures() == []
            boots = [boot for boot in self.boots() if boot.status == "ACTIVE" and boot.requested > since]
            return boots if len(boots) >= count else []

        return self._machine.eventually(active, f"{count} boots")

    def _lines(self) -> list[list[str]]:
        text = self._machine.run("cat", OUTPUT).stdout
        return [line.split() for line in text[: text.rfind("\n") + 1].splitlines()]


def rate(boots: list[Boot]) -> float:
    """Return the boots in a second, from the end of the first to that of the last."""
    return (len(boots) - 1) / (boots[-1].ended - boots[0].ended)
