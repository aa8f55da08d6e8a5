# SPDX-License-Identifier: Apache-2.0
"""Servers in temporary folders for the duration of a measurement."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from devstack.servers.mariadb import MariadbServer
from devstack.servers.process import ServerProcess, stop_together
from devstack.servers.redis import AppendFsync, RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary

PREFIX = "gantt-lab-"

ProcessT = TypeVar("ProcessT")


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a new folder with a path short enough for Unix sockets and this process's id in its name."""
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


def remove_leftovers() -> None:
    """Stop the servers that killed labs of this user left running, and remove their folders."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        pid = folder.name.removeprefix(PREFIX).partition("-")[0]
        if not pid.isdigit() or Path("/proc", pid).exists():
            continue
        with contextlib.suppress(FileNotFoundError):  # another lab removes it concurrently
            if folder.lstat().st_uid == os.geteuid():
                files = sorted(folder.rglob("*.pid"))
                stop_together([ServerProcess(path.stem, path, path.with_suffix(".log")) for path in files], 0)
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def started(
    make: Callable[[Path], ProcessT], start: Callable[[ProcessT], object], end: Callable[[ProcessT], object]
) -> Iterator[ProcessT]:
    """Yield what ``make`` returns for a temporary folder, after ``start``; finally ``end`` it."""
    with temporary_folder() as folder:
        process = make(folder)
        try:
            start(process)
            yield process
        finally:
            end(process)


def running_redis(appendonly: AppendFsync, *preference: Flavour) -> AbstractContextManager[RedisServer]:
    return started(
        lambda folder: RedisServer(folder, appendonly=appendonly, binary=redis_binary(*preference)),
        RedisServer.start,
        RedisServer.kill,
    )


def running_mariadb(settings: Sequence[str] = ()) -> AbstractContextManager[MariadbServer]:
    return started(lambda folder: MariadbServer(folder, settings=settings), MariadbServer.start, MariadbServer.kill)
