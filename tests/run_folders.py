# SPDX-License-Identifier: Apache-2.0
"""Run folders of the tests' private servers, and the end of those that a killed test run left behind."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from devstack.servers.folder import private_folder, require_own
from devstack.servers.process import ServerProcess, start_ticks, stop_together

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
    """End the servers of test runs that were killed before they could do it, and remove their folders.

    Raises FolderUnusable when somebody else made the folder in which they should lie: he chose its pid files.
    """
    if not require_own(BASE):
        return
    for owned in BASE.glob("*-*"):
        pid, _, started = owned.name.partition("-")
        if pid.isdigit() and str(start_ticks(int(pid))) == started:
            continue
        pid_files = owned.rglob("*.pid")
        left = [ServerProcess(path.stem, path, path.with_suffix(".log")) for path in pid_files]
        # Nobody is left to whom it matters how they end: no time is given, and their workers end with them.
        stop_together(left, 0)
        shutil.rmtree(owned, ignore_errors=True)
