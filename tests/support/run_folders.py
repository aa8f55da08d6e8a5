# SPDX-License-Identifier: Apache-2.0
"""Run folders of the tests' private servers, and clean-up after killed test runs."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

from devstack.deploy.users.folder import private_folder, require_own
from devstack.servers.process import ServerProcess, start_ticks, stop_together

# Short on purpose: the path of a Unix socket in it has at most 107 bytes.
BASE = Path(tempfile.gettempdir()) / f"gantt-tests-{os.getuid()}"


def claim_folder() -> Path:
    """Return a new folder; its parent's name identifies the owning process."""
    pid = os.getpid()
    owner_folder = private_folder(private_folder(BASE) / f"{pid}-{start_ticks(pid)}")
    return Path(tempfile.mkdtemp(prefix="s", dir=owner_folder))


def release_folder(folder: Path) -> None:
    """Remove a folder, and its parent when it is empty."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):
        folder.parent.rmdir()


def sweep() -> None:
    """End the servers of killed test runs, and remove their folders.

    Raises FolderUnusable when another user owns the base folder, because its pid files cannot be trusted.
    """
    if not require_own(BASE):
        return
    for owner_folder in BASE.glob("*-*"):
        pid, _, started = owner_folder.name.partition("-")
        if pid.isdigit() and str(start_ticks(int(pid))) == started:
            continue
        pid_files = owner_folder.rglob("*.pid")
        servers = [ServerProcess(path.stem, path, path.with_suffix(".log")) for path in pid_files]
        # These servers have no users any more: kill them at once, with their workers.
        stop_together(servers, 0)
        shutil.rmtree(owner_folder, ignore_errors=True)
