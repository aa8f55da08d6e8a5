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

    Raises FolderUnusable when it cannot be made, or when others own it or may write to it.
    """
    path = path.absolute()
    try:
        if not require_own(path):
            path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            # Somebody may have been faster: what is there now is looked at again.
            require_own(path)
        path.chmod(PRIVATE_FOLDER)
    except OSError as why:
        raise FolderUnusable(
            f"The run folder {path} cannot be used: {why.strerror}. Choose a folder that you own."
        ) from why
    if not os.access(path, os.W_OK | os.X_OK):
        raise FolderUnusable(f"The run folder {path} is not writable. Choose a folder that you own.")
    return path


def require_own(path: Path) -> bool:
    """Return whether `path` exists; raise FolderUnusable unless it then is a folder that only the caller may write to.

    What lies in a folder of others must not be believed: they choose the process that a pid file names.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as why:
        raise FolderUnusable(
            f"The run folder {path} cannot be used: {why.strerror}. Choose a folder that you own."
        ) from why
    wrong = None
    if stat.S_ISLNK(found.st_mode):
        wrong = "is a symbolic link"
    elif not stat.S_ISDIR(found.st_mode):
        wrong = "is not a folder"
    elif found.st_uid != os.geteuid():
        wrong = f"belongs to the user with id {found.st_uid}, not to you (id {os.geteuid()})"
    elif found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        wrong = f"may be written to by other users (mode {stat.S_IMODE(found.st_mode):o})"
    if wrong is not None:
        raise FolderUnusable(f"The run folder {path} {wrong}; nothing in it was touched. Choose a folder that you own.")
    return True


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
