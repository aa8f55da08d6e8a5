# SPDX-License-Identifier: Apache-2.0
"""A redis-server for the length of a measurement."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from devstack.lab.interruption import held_back
from devstack.servers.redis import Durability, RedisServer


@contextlib.contextmanager
def running(appendonly: Durability) -> Iterator[RedisServer]:
    """Start a server in a folder of its own, and leave nothing of either; raises ServerError."""
    remains = contextlib.ExitStack()
    try:
        with held_back():
            folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
            remains.callback(shutil.rmtree, folder, ignore_errors=True)
            server = RedisServer(folder, appendonly=appendonly)
            remains.callback(server.kill)
            server.start()
        yield server
    finally:
        with held_back():
            remains.close()
