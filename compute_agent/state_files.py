# SPDX-License-Identifier: Apache-2.0
"""Small files in the state folder: replaced as a whole, and a folder that one process owns."""

import fcntl
import os
from pathlib import Path
from urllib.parse import quote

from rpcapi import errors


def replace(path: Path, text: str, durable: bool = False) -> None:
    """Write ``text`` to ``path`` so that a reader, or a crash, sees the old content or the new."""
    fresh = path.with_name(f".{path.name}.new")
    with fresh.open("w", encoding="utf-8") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    fresh.replace(path)


def folder_name(host: str) -> str:
    """Return a name for a host's folder that can be no path and no hidden file."""
    return quote(host, safe="").replace(".", "%2E", 1) if host.startswith(".") else quote(host, safe="")


class FolderInUse(Exception):
    """Raised when another process owns a folder."""


class OwnedFolder:
    """A folder of mode 0700 that belongs to one process, for as long as it lives."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd = -1

    def acquire(self) -> None:
        """Make the folder, and own it; raises FolderInUse, and BadConfiguration when it cannot be had at all."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._fd = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.release()
            raise FolderInUse(
                f"{self.path} is in use by another gantt-compute; it is waited for, or give each its own"
            ) from error
        except OSError as error:
            self.release()
            raise errors.BadConfiguration(why=f"[compute] state_path cannot be used: {error}") from error

    def release(self) -> None:
        """Let another process have it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
