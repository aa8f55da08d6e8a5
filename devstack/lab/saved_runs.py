# SPDX-License-Identifier: Apache-2.0
"""Saved runs of benchmarks, with their commit, machine and time."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from devstack.lab import rows
from devstack.lab.rows import ResultRow
from rpcapi.cli.command import CommandFailed

GIB = 2**30

Machine = dict[str, str | int | float]

PROJECT = Path(__file__).resolve().parents[2]
GIT_SECONDS = 10.0
UNKNOWN_COMMIT = "unknown"  # commit of an installation without its repository


def describe_machine() -> Machine:
    """Describe the machine and its load; a load above one per core disturbs measurements."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIB, 1),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "load_1min": round(os.getloadavg()[0], 2),
    }


def machine_sentence(machine: Machine) -> str:
    return (
        f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, Linux {machine['kernel']}, "
        f"Python {machine['python']}; load over the last minute {machine['load_1min']}"
    )


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "model name":
            return value.strip()
    return platform.machine()


@dataclass(frozen=True, slots=True)
class SavedRun:
    """Rows of a benchmark with the options of its command; ``commit`` ends in ``+`` if files differed from it."""

    command: str
    options: Mapping[str, Any]
    commit: str
    started: datetime
    machine: Mapping[str, Any]
    rows: Sequence[Mapping[str, Any]]

    def save(self, folder: Path) -> Path:
        name = f"{self.command}-{self.started:%Y%m%dT%H%M%S.%f}-{self.commit.rstrip('+')[:12]}.json"
        document = {"schema": 1, **asdict(self), "started": self.started.isoformat()}
        path = folder / name
        path.write_text(rows.json_text(document, indent=2) + "\n")
        return path


def make_run(
    command: str,
    options: Mapping[str, Any],
    started: datetime,
    described: Machine,
    result_rows: Sequence[ResultRow],
) -> SavedRun:
    """Return a run of the current commit; files are saved by name, which is the same on other machines."""
    plain = {name: value.name if isinstance(value, Path) else value for name, value in options.items()}
    plain = {name: value for name, value in plain.items() if isinstance(value, bool | int | float | str | list)}
    return SavedRun(command, plain, present_commit(), started, described, [row.as_dict() for row in result_rows])


def require_folder(folder: Path) -> None:
    """Create the folder if it is missing. Raises CommandFailed if runs cannot be saved in it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as why:
        raise CommandFailed(f"Runs cannot be saved in {folder}: {why.strerror or why}") from why
    if not os.access(folder, os.W_OK | os.X_OK):
        raise CommandFailed(f"Runs cannot be saved in {folder}: it is not writable")


def read_all(folder: Path) -> list[SavedRun]:
    """Return a folder's runs by start time. Raises CommandFailed for an empty folder, or a file that is not a run."""
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
        rows_are_named = all(row["name"] and isinstance(row["ratio"], int | float) for row in document["rows"])
        if started.tzinfo is None or not rows_are_named:
            raise ValueError
        del document["schema"]
        return SavedRun(**{**document, "started": started})
    except (OSError, ValueError, KeyError, TypeError) as why:
        raise CommandFailed(f"{path} is no run that lab.sh saved: remove it from the folder") from why


def present_commit() -> str:
    commit = _git("rev-parse", "HEAD")
    if commit is None:
        return UNKNOWN_COMMIT
    return f"{commit}+" if _git("status", "--porcelain", "--untracked-files=no") else commit


def _git(*arguments: str) -> str | None:
    if not (PROJECT / ".git").exists():
        return None  # a different repository may contain the installation folder
    command = ["git", "-C", str(PROJECT), *arguments]
    try:
        run = subprocess.run(  # noqa: S603 - a fixed command, no shell
            command, capture_output=True, text=True, timeout=GIT_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return run.stdout.strip()


def now() -> datetime:
    return datetime.now(UTC)
