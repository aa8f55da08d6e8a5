# SPDX-License-Identifier: Apache-2.0
"""gantt-placement-import as operators run it, with its time from the start, or from Ctrl-C, to the end."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rpcapi.cli.command import CommandFailed

FOLLOW = ("--follow", "--interval", "86400")
FIRST_LINE = "Pass 1: "
TAIL = 600


class ImportCommand:
    """Copies from a Placement database to the store that a configuration file names."""

    def __init__(self, source_url: str, conf: Path) -> None:
        self._command = [sys.executable, "-m", "scheduler_svc.cmd.placement_import", "--config-file", str(conf)]
        self._environment = {**os.environ, "GANTT_PLACEMENT_SOURCE": source_url, "PYTHONWARNINGS": "ignore"}

    def seconds(self, *options: str) -> float:
        """Run it once; return the seconds. Raises CommandFailed where anything is amiss."""
        began = time.perf_counter()
        done = subprocess.run(  # noqa: S603 - a fixed command, no shell
            [*self._command, *options],
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - began
        _require(done.returncode == 0, done.stdout + done.stderr)
        return seconds

    def last_pass_seconds(self, change: Callable[[], None]) -> float:
        """Follow a Placement; return the seconds from Ctrl-C, after ``change`` was made, to the end of the command."""
        process = subprocess.Popen(  # noqa: S603 - a fixed command, no shell
            [*self._command, *FOLLOW],
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        with process:
            try:
                assert process.stdout is not None  # noqa: S101 - created with a pipe
                line = process.stdout.readline()
                _require(line.startswith(FIRST_LINE), line)
                change()
                began = time.perf_counter()
                process.send_signal(signal.SIGINT)
                output = process.communicate()[0]
                seconds = time.perf_counter() - began
            finally:
                process.kill()
        _require(process.returncode == 0, output)
        return seconds


def _require(is_good: bool, output: str) -> None:
    if not is_good:
        raise CommandFailed(f"gantt-placement-import failed: {output.strip()[-TAIL:]}")
