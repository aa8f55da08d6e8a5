# SPDX-License-Identifier: Apache-2.0
"""The run folder: all that a private server writes, readable by its owner only."""

import os
import secrets
import stat
from pathlib import Path

from devstack.servers.errors import FolderUnusable

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def private_folder(path: Path) -> Path:
    """Make (if need be) and return `path` as a folder of mode 0700.

    Raises FolderUnusable when it cannot be made or belongs to somebody else.
    """
    path = path.absolute()
    try:
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        path.chmod(PRIVATE_FOLDER)
    except OSError as why:
        raise FolderUnusable(
            f"The run folder {path} cannot be used: {why.strerror}. Choose a folder that you own."
        ) from why
    if not os.access(path, os.W_OK | os.X_OK) or not stat.S_ISDIR(path.stat().st_mode):
        raise FolderUnusable(f"The run folder {path} is not writable. Choose a folder that you own.")
    return path


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` so that no moment exists at which others may read it, or read half of it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "w") as file:
            file.write(text)
        draft.replace(path)
    except OSError as why:
        raise FolderUnusable(f"The file {path} cannot be written: {why.strerror}.") from why


class Passwords:
    """One random password per user, each in its own 0600 file, made when first asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, user: str) -> Path:
        """The file that holds the user's password, and nothing else."""
        return self.folder / f"{user}.password"

    def of(self, user: str) -> str:
        """The user's password: 32 URL-safe characters."""
        path = self.path(user)
        if not path.exists():
            private_folder(self.folder)
            write_private(path, secrets.token_urlsafe(24))
        return path.read_text()
