# SPDX-License-Identifier: Apache-2.0
"""Redis Sentinel and Redis Cluster behind one interface, for failover tests."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from devstack.deploy.users.redis_users import STORE_USERS
from devstack.servers.errors import BinaryMissing
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import redis_binary
from devstack.servers.redis_cluster import RedisCluster
from devstack.servers.sentinel import SentinelGroup
from tests.support.run_folders import claim_folder, release_folder
from tests.support.servers import missing

Kind = Literal["sentinel", "cluster"]
KINDS: tuple[Kind, ...] = ("sentinel", "cluster")
STEADY_MS = 3_600_000  # longer than any run: a server is silent on a busy machine, and is replaced on request only


class FailoverSetup:
    """Servers with automatic failover."""

    def __init__(self, group: SentinelGroup | RedisCluster) -> None:
        self.group = group

    def url(self, user: str | None) -> str:
        """Return the store URL of a service."""
        return self.group.url(user)

    def primary(self, key: str) -> RedisServer:
        """Return the current primary of ``key``."""
        return self.group.owner(key) if isinstance(self.group, RedisCluster) else self.group.primary()

    def replicas(self, key: str) -> list[RedisServer]:
        """Return the replicas of that primary."""
        primary = self.primary(key)
        if isinstance(self.group, RedisCluster):
            return [self.group.replica_of(primary)]
        return [server for server in self.group.servers if server is not primary]


@contextmanager
def running_setup(
    kind: Kind,
    *,
    users: bool = True,
    binary: Path | None = None,
    folder: Path | None = None,
    down_ms: int | None = None,
) -> Iterator[FailoverSetup]:
    """Start the servers, with the services' users or without users; remove them and their data at the end.

    ``down_ms`` is the silence after which the others replace a primary, by default about a second.
    """
    own = folder or claim_folder()
    make = RedisCluster if kind == "cluster" else SentinelGroup
    try:
        binary = binary or redis_binary()
    except BinaryMissing as why:
        missing(why)
    options: dict[str, Any] = {} if down_ms is None else {"down_ms": down_ms}
    group = make(own, users=STORE_USERS if users else (), binary=binary, **options)
    try:
        group.start()
        yield FailoverSetup(group)
    finally:
        group.kill()
        release_folder(own)
