# SPDX-License-Identifier: Apache-2.0
"""Server programs for tests: skipped or failed if missing, started in folders of their own."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

from devstack.servers.errors import BinaryMissing
from devstack.servers.mariadb import MariadbServer
from devstack.servers.ports import free_port
from devstack.servers.rabbitmq import RabbitNode
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import redis_binary
from tests.support.private_servers.postgresql import PostgresqlServer
from tests.support.run_folders import claim_folder, release_folder
from tests.support.time_limits import pytest_timeout_cancel_timer, pytest_timeout_set_timer  # noqa: F401  # hooks

AGENT_HOSTS = ("h1", "h10")  # with users of their own on the shared RabbitMQ node


def missing(why: BinaryMissing) -> NoReturn:
    """Skip a test when a server program is missing; in CI, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"A SERVER IS MISSING, which is a failure with CI=true: {why}", pytrace=False)
    pytest.skip(f"A SERVER IS MISSING: {why}")


ServerT = TypeVar("ServerT", MariadbServer, PostgresqlServer, RabbitNode, RedisServer)


@contextlib.contextmanager
def running(make: Callable[[Path], ServerT]) -> Iterator[ServerT]:
    """Start a server in a folder of its own; stop it and remove the folder at the end."""
    folder = claim_folder()
    try:
        server = make(folder)
        server.start()
    except BinaryMissing as why:
        release_folder(folder)
        missing(why)
    yield server
    server.stop()
    release_folder(folder)


def running_redis() -> contextlib.AbstractContextManager[RedisServer]:
    """Start a Redis without an append-only file and users, on a socket and a loopback port."""
    return running(lambda folder: RedisServer(folder, port=free_port(), binary=redis_binary()))
