# SPDX-License-Identifier: Apache-2.0
"""A redis-server for the length of a measurement."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from devstack.servers.redis import Durability, RedisServer


@contextlib.contextmanager
def running(appendonly: Durability) -> Iterator[RedisServer]:
    """Start a server in a folder of its own, and leave nothing of either; raises ServerError."""
    folder = Path(tempfile.mkdtemp(prefix="gantt-lab-"))
    server = RedisServer(folder, appendonly=appendonly)
    try:
        server.start()
        yield server
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)
