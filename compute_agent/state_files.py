# SPDX-License-Identifier: Apache-2.0
"""State files: atomic replacement, and folders owned by one process."""

import fcntl
import os
from pathlib import Path
from urllib.parse import quote

from rpcapi import errors


def replace(path: Path, text: str) -> None:
    """Replace a file's content atomically and durably.

    After OSError the file has its old content, unless only the sync of the folder failed.
    """
    fresh = path.with_name(f".{path.name}.new")
    try:
        with fresh.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames and new files in a folder durable; raises OSError."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def folder_name(host: str) -> str:
    """Return the host's name quoted as a folder name: neither a path nor a hidden file."""
    return quote(host, safe="").replace(".", "%2E", 1) if host.startswith(".") else quote(host, safe="")


class FolderInUse(Exception):
    """Raised when another process owns the folder."""


class OwnedFolder:
    """Folder of mode 0700 with a file lock, so that only one process owns it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def acquire(self) -> None:
        """Create and lock the folder; raises FolderInUse, or BadConfiguration if it is unusable."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise FolderInUse(
                f"{self.path} is in use by another gantt-compute; stop it, or use another state_path"
            ) from error
        except OSError as error:
            self.release()
            raise errors.BadConfiguration(why=f"[compute] state_path is unusable: {error}") from error

    def check(self) -> None:
        """Raise FolderInUse unless this process still owns the folder; its lock file may have been replaced."""
        try:
            owned = os.path.samestat(os.fstat(self._fd), (self.path / "lock").stat())
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise FolderInUse(f"{self.path} is no longer owned by this gantt-compute: {error}") from error
        if not owned:
            raise FolderInUse(f"{self.path} is no longer owned by this gantt-compute: its lock file was replaced")

    def release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
