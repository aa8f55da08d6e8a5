# SPDX-License-Identifier: Apache-2.0
"""A private redis-server for the duration of a measurement."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from devstack.lab.interruption import defer_signals
from devstack.servers.redis import AppendFsync, RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary


@contextlib.contextmanager
def running(appendonly: AppendFsync, *preference: Flavour) -> Iterator[RedisServer]:
    """Start a server in a temporary folder, and remove both at the end; raises ServerError or BinaryMissing.

    ``preference`` is as in redis_binary.
    """
    cleanup = contextlib.ExitStack()
    try:
        with defer_signals():
            folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
            cleanup.callback(shutil.rmtree, folder, ignore_errors=True)
            server = RedisServer(folder, appendonly=appendonly, binary=redis_binary(*preference))
            cleanup.callback(server.kill)
            server.start()
        yield server
    finally:
        with defer_signals():
            cleanup.close()
