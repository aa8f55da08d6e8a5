# SPDX-License-Identifier: Apache-2.0
"""Connections that locate the Redis primary on each connect, and reconnect after a failover."""

from typing import Any

import redis
from redis.exceptions import AskError, ClusterDownError

from rpcapi.conf import redis_url
from rpcapi.redis_failover import tls
from rpcapi.redis_failover.locator import PrimaryLocator, make_locator

# The server is not, or no longer, the primary. MovedError is an AskError.
NOT_PRIMARY_ERRORS = (redis.ReadOnlyError, AskError, ClusterDownError)
# Messages of the same errors inside a script, or during a wait for replicas.
_NOT_PRIMARY_TEXTS = ("READONLY ", "NOREPLICAS ", "UNBLOCKED ")


class _PrimaryConnection(redis.Connection):
    """Connection whose address comes from a locator instead of its URL."""

    def __init__(self, *, locator: PrimaryLocator, **options: Any) -> None:
        self._locator = locator
        self._reconnect_needed = False
        super().__init__(**options)

    def _connect(self) -> Any:
        self.host, self.port = self._locator.primary()
        self._reconnect_needed = False
        return super()._connect()

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)
        except redis.ResponseError as error:
            self._reconnect_needed = self._reconnect_needed or is_not_primary(error)
            raise

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        # Not earlier, because further responses to the same pipeline may still arrive.
        if self._reconnect_needed:
            self.disconnect()
        super().send_packed_command(command, check_health)


class _PrimaryTlsConnection(_PrimaryConnection, tls.TlsConnection):
    """Connection to the primary over TLS."""


def is_not_primary(error: redis.RedisError) -> bool:
    return isinstance(error, NOT_PRIMARY_ERRORS) or any(text in str(error) for text in _NOT_PRIMARY_TEXTS)


def pool(
    url: str, key: str, group: str, kind: type[redis.ConnectionPool] = redis.ConnectionPool, **options: Any
) -> redis.ConnectionPool:
    """Return a lazy pool of connections to the primary of ``key``; raises BadConfiguration for an unusable URL."""
    if not redis_url.has_multiple_servers(url):
        tls.check_files(url, group)
        return kind.from_url(url, **tls.connection_options(url), **options)
    nodes = redis_url.parse_nodes(url, group)
    tls.check_files(nodes.primary_url, group)
    connection_class = _PrimaryTlsConnection if nodes.tls else _PrimaryConnection
    return kind.from_url(
        nodes.primary_url, connection_class=connection_class, locator=make_locator(nodes, key), **options
    )
