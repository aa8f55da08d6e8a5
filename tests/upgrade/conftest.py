# SPDX-License-Identifier: Apache-2.0
"""The former release: a commit of this repository, installed with pip into an environment of its own."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from devstack.peer_environments import default_cache
from tests.support.servers import missing

PROJECT = Path(__file__).resolve().parents[2]
FORMER = "7722a134"  # a commit whose stored data and messages this one reads; another one with GANTT_FORMER
INSTALL_SECONDS = 900.0


@dataclass(frozen=True)
class Release:
    """A release, the folder of its programs, and the PYTHONPATH that they need beside what is installed."""

    name: str
    programs: Path
    python_path: str = ""

    @property
    def python(self) -> str:
        """Its Python."""
        return str(self.programs / "python")

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables of its programs."""
        return {**os.environ, "PYTHONPATH": self.python_path}

    def command(self, daemon: str) -> list[str]:
        """Return the command of a daemon."""
        return [str(self.programs / f"gantt-{daemon}")]


@pytest.fixture(scope="session")
def current() -> Release:
    """This checkout, as the tests run it."""
    return Release("current", Path(sys.executable).parent, os.environ.get("PYTHONPATH", ""))


@pytest.fixture(scope="session")
def former() -> Release:
    """The former release, installed on first use."""
    commit = os.environ.get("GANTT_FORMER", FORMER)
    named = _run("git", "-C", str(PROJECT), "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}")
    if named.returncode:
        missing(f"the former commit {commit} is not in this clone: fetch it, or name another one with GANTT_FORMER")
    name = named.stdout.strip()
    folder = default_cache() / f"gantt-{name[:12]}"
    complete = folder / "installed"
    if not complete.exists():
        _install(name, folder)
        complete.touch()
    return Release(name[:12], folder / "bin")


def _install(commit: str, folder: Path) -> None:
    archive = folder / "gantt.tar.gz"
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(folder)],
        ["git", "-C", str(PROJECT), "archive", "--prefix", "gantt/", "--output", str(archive), commit],
        [str(folder / "bin" / "pip"), "install", "--quiet", f"{archive}[all]"],
    ):
        done = _run(*command)
        assert done.returncode == 0, f"{command} failed: {done.stderr[-2000:]}"


def _run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
