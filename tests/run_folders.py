# SPDX-License-Identifier: Apache-2.0
"""Run folders of the tests' private servers, and the end of those that a killed test run left behind."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from devstack.servers.folder import private_folder
from devstack.servers.process import ServerProcess, start_ticks

# Short on purpose: the path of a Unix socket in it has at most 107 bytes.
BASE = Path(tempfile.gettempdir()) / f"gantt-tests-{os.getuid()}"


def claim_folder() -> Path:
    """A fresh folder that says by its name which process owns it."""
    pid = os.getpid()
    owned = private_folder(private_folder(BASE) / f"{pid}-{start_ticks(pid)}")
    return Path(tempfile.mkdtemp(prefix="s", dir=owned))


def release_folder(folder: Path) -> None:
    """Remove a folder, and its owner's folder with the last of them."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def sweep() -> None:
    """End the servers of test runs that were killed before they could do it, and remove their folders."""
    for owned in BASE.glob("*-*"):
        pid, _, started = owned.name.partition("-")
        if str(start_ticks(int(pid))) == started:
            continue
        for pid_file in owned.rglob("*.pid"):
            ServerProcess(pid_file.stem, pid_file, pid_file.with_suffix(".log")).kill()
        shutil.rmtree(owned, ignore_errors=True)
