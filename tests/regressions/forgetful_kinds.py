# SPDX-License-Identifier: Apache-2.0
"""The kinds of stores that forget, with their servers."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from devstack.servers.errors import BinaryMissing
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import redis_binary
from tests.regressions.forgetful_redis import FailedOverRedis, OneRedis
from tests.regressions.forgetful_stores import ForgetfulStores, MemoryStores, PostgresqlPair, SqliteFile
from tests.support.clusters.setups import STEADY_MS, Kind, running_setup
from tests.support.private_servers.postgresql import PostgresqlServer
from tests.support.run_folders import claim_folder, release_folder
from tests.support.servers import missing


@contextlib.contextmanager
def opened_stores(kind: str) -> Iterator[ForgetfulStores]:
    """Start a deployment of one of KINDS; remove it and its data at the end."""
    with contextlib.ExitStack() as stack:
        try:
            stores = KINDS[kind](stack)
        except BinaryMissing as why:
            missing(why)
        stack.callback(stores.close)
        yield stores


def _folder(stack: contextlib.ExitStack) -> Path:
    folder = claim_folder()
    stack.callback(release_folder, folder)
    return folder


def _one_redis(stack: contextlib.ExitStack) -> ForgetfulStores:
    server = RedisServer(_folder(stack), appendonly="everysec", binary=redis_binary())
    stack.callback(server.kill)
    server.start()
    return OneRedis(server)


def _failed_over(kind: Kind) -> Callable[[contextlib.ExitStack], ForgetfulStores]:
    return lambda stack: FailedOverRedis(stack.enter_context(running_setup(kind, users=False, down_ms=STEADY_MS)))


def _postgresql_pair(stack: contextlib.ExitStack) -> ForgetfulStores:
    primary, standby = (PostgresqlServer(_folder(stack), settings=["fsync = off"]) for _ in range(2))
    stack.callback(primary.kill)
    stack.callback(standby.kill)
    primary.start()
    return PostgresqlPair(primary, standby)


KINDS: dict[str, Callable[[contextlib.ExitStack], ForgetfulStores]] = {
    "memory": lambda _stack: MemoryStores(),
    "redis": _one_redis,
    "sentinel": _failed_over("sentinel"),
    "cluster": _failed_over("cluster"),
    "sqlite": lambda stack: SqliteFile(_folder(stack)),
    "postgresql": _postgresql_pair,
}
