# SPDX-License-Identifier: Apache-2.0
"""Servers in temporary folders for the duration of a measurement."""

import contextlib
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from devstack.lab.interruption import defer_signals
from devstack.servers.mariadb import MariadbServer
from devstack.servers.redis import AppendFsync, RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary

ProcessT = TypeVar("ProcessT")
ServerT = TypeVar("ServerT", RedisServer, MariadbServer)


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
def started(
    make: Callable[[Path], ProcessT], start: Callable[[ProcessT], object], end: Callable[[ProcessT], object]
) -> Iterator[ProcessT]:
    """Yield what ``make`` returns for a new folder, after its start; then ``end`` it."""
    with in_temporary_folder(make, end) as process:
        start(process)
        yield process


def _running(make: Callable[[Path], ServerT], kill: Callable[[ServerT], object]) -> AbstractContextManager[ServerT]:
    def start(server: ServerT) -> None:
        with defer_signals():
            server.start()

    return started(make, start, kill)


def running_redis(appendonly: AppendFsync, *preference: Flavour) -> AbstractContextManager[RedisServer]:
    """Run a server in a temporary folder; raises ServerError or BinaryMissing."""
    return _running(
        lambda folder: RedisServer(folder, appendonly=appendonly, binary=redis_binary(*preference)), RedisServer.kill
    )


def running_mariadb(settings: Sequence[str] = ()) -> AbstractContextManager[MariadbServer]:
    """Run a server in a temporary folder; raises ServerError or BinaryMissing."""
    return _running(lambda folder: MariadbServer(folder, settings=settings), MariadbServer.kill)
