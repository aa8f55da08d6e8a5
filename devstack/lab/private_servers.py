# SPDX-License-Identifier: Apache-2.0
"""Servers in temporary folders for the duration of a measurement."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from devstack.lab.interruption import defer_signals
from devstack.servers.mariadb import MariadbServer
from devstack.servers.redis import AppendFsync, RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary

ProcessT = TypeVar("ProcessT")


@contextlib.contextmanager
def in_temporary_folder(make: Callable[[Path], ProcessT], end: Callable[[ProcessT], object]) -> Iterator[ProcessT]:
    """Yield what ``make`` returns for a new folder, with termination signals deferred; then ``end`` it."""
    cleanup = contextlib.ExitStack()
    try:
        with defer_signals():
            folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
            cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
            process = make(folder)
            cleanup.callback(end, process)
        yield process
    finally:
        with defer_signals():
            cleanup.close()


@contextlib.contextmanager
def running_redis(appendonly: AppendFsync, *preference: Flavour) -> Iterator[RedisServer]:
    """Start a server in a temporary folder, and remove both at the end; raises ServerError or BinaryMissing."""

    def make(folder: Path) -> RedisServer:
        return RedisServer(folder, appendonly=appendonly, binary=redis_binary(*preference))

    with in_temporary_folder(make, RedisServer.kill) as server:
        with defer_signals():
            server.start()
        yield server


@contextlib.contextmanager
def running_mariadb(settings: Sequence[str] = ()) -> Iterator[MariadbServer]:
    """Start a server in a temporary folder, and remove both at the end; raises ServerError or BinaryMissing."""
    with in_temporary_folder(lambda folder: MariadbServer(folder, settings=settings), MariadbServer.kill) as server:
        with defer_signals():
            server.start()
        yield server
