# SPDX-License-Identifier: Apache-2.0
"""A user of stack.sh, with a run folder and an environment of its own."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from devstack.cluster_size import default_executor

PROJECT = Path(__file__).parents[2]


class StackUser:
    """A user with a private run folder, and with this test's environment in place of that of stack.sh."""

    def __init__(self, folder: Path) -> None:
        self.run_folder = folder / "run"
        venv = folder / "venv"
        (venv / "bin").mkdir(parents=True)
        python = venv / "bin/python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        packaging = b"".join((PROJECT / name).read_bytes() for name in ("setup.py", "pyproject.toml"))
        (venv / ".gantt-stamp").write_text(hashlib.sha256(packaging).hexdigest())
        of_tests = ("GANTT_", "EVENTLET_")
        machine_environment = {name: value for name, value in os.environ.items() if not name.startswith(of_tests)}
        self._environment = {
            **machine_environment,
            "HOME": str(folder),
            "GANTT_RUN": str(self.run_folder),
            "GANTT_VENV": str(venv),
            "GANTT_EXECUTOR": default_executor(),
        }

    def run(self, *command: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(part) for part in command],
            env=self._environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def stack(self, *options: str | Path) -> subprocess.CompletedProcess[str]:
        return self.run(PROJECT / "devstack/stack.sh", *options)

    def start_stack(self, *options: str) -> subprocess.Popen[str]:
        """Start stack.sh without waiting for its end."""
        return subprocess.Popen(
            [PROJECT / "devstack/stack.sh", *options],
            env=self._environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def unstack(self) -> subprocess.CompletedProcess[str]:
        return self.run(PROJECT / "devstack/unstack.sh")

    def gantt(self, *arguments: str) -> Any:
        """Run a command that must succeed; return its JSON output."""
        done = self.run(Path(sys.executable).with_name("gantt"), *arguments, "-f", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def processes(self) -> list[int]:
        """Return the processes that use the run folder."""
        return [
            int(path.parent.name)
            for path in Path("/proc").glob("[0-9]*/cmdline")
            if str(self.run_folder) in _command_and_folder(path)
        ]


def _command_and_folder(path: Path) -> str:
    try:
        return f"{path.read_text(errors='replace')} {path.with_name('cwd').readlink()}"
    except OSError:
        return ""  # it has ended, or belongs to another user
