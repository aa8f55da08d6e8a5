# SPDX-License-Identifier: Apache-2.0
"""A private redis-server for the duration of a measurement."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from devstack.lab.interruption import defer_signals
from devstack.lab.temporary_folder import in_temporary_folder
from devstack.servers.redis import AppendFsync, RedisServer
from devstack.servers.redis_binary import Flavour, redis_binary


@contextlib.contextmanager
def running(appendonly: AppendFsync, *preference: Flavour) -> Iterator[RedisServer]:
    """Start a server in a temporary folder, and remove both at the end; raises ServerError or BinaryMissing.

    ``preference`` is as in redis_binary.
    """

    def make(folder: Path) -> RedisServer:
        return RedisServer(folder, appendonly=appendonly, binary=redis_binary(*preference))

    with in_temporary_folder(make, RedisServer.kill) as server:
        with defer_signals():
            server.start()
        yield server
