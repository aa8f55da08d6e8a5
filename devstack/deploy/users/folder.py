# SPDX-License-Identifier: Apache-2.0
"""Private folders for files of the servers, accessible only to their owner."""

import os
import secrets
import stat
from pathlib import Path

from devstack.deploy.users.errors import FolderUnusable

PRIVATE_FOLDER = 0o700
PRIVATE_FILE = 0o600


def private_folder(path: Path) -> Path:
    """Return a folder of mode 0700, created if missing. Raises FolderUnusable if others own it or may write to it."""
    path = path.absolute()
    try:
        if not require_own(path):
            path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
            # Check again: a concurrent process may have created the folder.
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
    """Return whether ``path`` exists. Raises FolderUnusable unless it is a folder that only the caller may write to.

    Files of others must not be trusted: a pid file could name any process.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    except OSError as why:
        raise FolderUnusable(
            f"The run folder {path} cannot be used: {why.strerror}. Choose a folder that you own."
        ) from why
    problem = None
    if stat.S_ISLNK(status.st_mode):
        problem = "is a symbolic link"
    elif not stat.S_ISDIR(status.st_mode):
        problem = "is not a folder"
    elif status.st_uid != os.geteuid():
        problem = f"belongs to the user with id {status.st_uid}, not to you (id {os.geteuid()})"
    elif status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        problem = f"may be written to by other users (mode {stat.S_IMODE(status.st_mode):o})"
    if problem is not None:
        raise FolderUnusable(
            f"The run folder {path} {problem}; nothing in it was changed. Choose a folder that you own."
        )
    return True


def write_private(path: Path, text: str) -> None:
    """Write ``text`` atomically to a file that others can never read."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, PRIVATE_FILE), "w") as file:
            file.write(text)
        draft.replace(path)
    except OSError as why:
        raise FolderUnusable(f"The file {path} cannot be written: {why.strerror}.") from why


class Passwords:
    """Random password per user, each in a file of mode 0600, generated on first use."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, user: str) -> Path:
        return self.folder / f"{user}.password"

    def of(self, user: str) -> str:
        path = self.path(user)
        if not path.exists():
            private_folder(self.folder)
            write_private(path, secrets.token_urlsafe(24))
        return path.read_text()
