# SPDX-License-Identifier: Apache-2.0
"""Runs of benchmarks, saved as one JSON file each: what was measured, of which commit, where and when."""

import json
import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from devstack.lab import rows
from devstack.lab.machine import Machine
from devstack.lab.rows import ResultRow
from rpcapi.cli.command import CommandFailed

PROJECT = Path(__file__).resolve().parents[2]
GIT_SECONDS = 10.0
UNKNOWN_COMMIT = "unknown"  # of an installation without its repository


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A benchmark's rows, as ``ResultRow.as_dict`` gives them, by which rows of other runs are found: by their names.

    ``options`` are those that the command was called with, by name; ``started`` is in UTC. ``commit`` ends in ``+`` if
    files differed from it.
    """

    command: str
    options: Mapping[str, Any]
    commit: str
    started: datetime
    machine: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    def save(self, folder: Path) -> Path:
        """Write the run into a file of its own, and return its path. Raises OSError."""
        name = f"{self.command}-{self.started:%Y%m%dT%H%M%S.%f}-{self.commit.rstrip('+')[:12]}.json"
        document = {
            "schema": 1,
            "command": self.command,
            "options": self.options,
            "commit": self.commit,
            "started": self.started.isoformat(),
            "machine": self.machine,
            "rows": self.rows,
        }
        path = folder / name
        path.write_text(rows.json_text(document, indent=2) + "\n")
        return path


def make(
    command: str,
    options: Mapping[str, Any],
    started: datetime,
    described: Machine,
    result_rows: Sequence[ResultRow],
) -> SavedRun:
    """Return a run of the present commit. Of files only the names count, which are the same on another machine."""
    plain = {name: value.name if isinstance(value, Path) else value for name, value in options.items()}
    plain = {name: value for name, value in plain.items() if isinstance(value, bool | int | float | str | list)}
    return SavedRun(command, plain, present_commit(), started, described, [row.as_dict() for row in result_rows])


def require_folder(folder: Path) -> None:
    """Make the folder where it is missing. Raises CommandFailed if runs cannot be saved in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise CommandFailed(f"Runs cannot be saved in {folder}: {why.strerror or why}") from why
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandFailed(f"Runs cannot be saved in {folder}: it is not writable")


def read_all(folder: Path) -> list[SavedRun]:
    """Return the runs saved in a folder, in the order of their starts.

    Raises CommandFailed if the folder has none, or a file that is no saved run of this schema.
    """
    paths = sorted(folder.glob("*.json"))
    if not paths:
        raise CommandFailed(f"No runs are saved in {folder}: run a benchmark with --save {folder} first")
    return sorted((_read(path) for path in paths), key=lambda run: run.started)


def _read(path: Path) -> SavedRun:
    try:
        document = json.loads(path.read_text())
        if document["schema"] != 1:
            raise CommandFailed(f"{path} has schema {document['schema']}, and this checkout reads 1: use a newer one")
        started = datetime.fromisoformat(document["started"])
        if started.tzinfo is None or not all(isinstance(row["ratio"], int | float) for row in document["rows"]):
            raise ValueError
        return SavedRun(
            document["command"],
            document["options"],
            document["commit"],
            started,
            document["machine"],
            [{"name": row["name"], **row} for row in document["rows"]],
        )
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise CommandFailed(f"{path} is no run that lab.sh saved: remove it from the folder") from why


def present_commit() -> str:
    """Return the commit of the sources that run; with ``+`` where files differ from it."""
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return UNKNOWN_COMMIT
    return f"{commit}+" if _git("status", "--porcelain", "--untracked-files=no") else commit


def _git(*arguments: str) -> str | None:
    if not (PROJECT / ".git").exists():
        return None  # another repository may hold the folder in which gantt is installed
    command = ["git", "-C", str(PROJECT), *arguments]
    try:
        run = subprocess.run(  # noqa: S603 - a fixed command, no shell
            command, capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip()


def now() -> datetime:
    """Return the present time, by which runs are ordered."""
    return datetime.now(UTC)
