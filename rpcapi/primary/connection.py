# SPDX-License-Identifier: Apache-2.0
"""Connections that look up where the primary is each time they connect, and connect anew when it is elsewhere."""

from typing import Any

import redis
from redis.exceptions import AskError, ClusterDownError

from rpcapi.conf import redis_nodes
from rpcapi.primary.whereabouts import Whereabouts, find

# The server is not, or not any more, the one that takes the writes. A MovedError is an AskError too.
ELSEWHERE = (redis.ReadOnlyError, AskError, ClusterDownError)
# The same, where it was met inside a script, or while the answer waited for the replicas.
_WORDS = ("READONLY ", "NOREPLICAS ", "UNBLOCKED ")


class _Following(redis.Connection):
    """A connection whose host and port are asked for; what it was given is a placeholder."""

    def __init__(self, *, whereabouts: Whereabouts, **options: Any) -> None:
        self._whereabouts = whereabouts
        self._led_astray = False
        super().__init__(**options)

    def _connect(self) -> Any:
        self.host, self.port = self._whereabouts.primary()
        self._led_astray = False
        return super()._connect()

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)
        except redis.ResponseError as error:
            self._led_astray = self._led_astray or is_elsewhere(error)
            raise

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        # Not where the error is read: answers to the same pipeline may still be on their way.
        if self._led_astray:
            self.disconnect()
        super().send_packed_command(command, check_health)


class _FollowingTls(_Following, redis.SSLConnection):
    """The same over TLS."""


def is_elsewhere(error: redis.RedisError) -> bool:
    """Tell whether ``error`` means that another server has become the primary, or will."""
    return isinstance(error, ELSEWHERE) or any(word in str(error) for word in _WORDS)


def pool(
    url: str, key: str, group: str, kind: type[redis.ConnectionPool] = redis.ConnectionPool, **options: Any
) -> redis.ConnectionPool:
    """Return connections to the Redis behind ``url`` that takes the writes of ``key``. Nothing is sent yet.

    Raises BadConfiguration, naming option ``url`` of ``group``, for a URL that is none.
    """
    if not redis_nodes.names_several(url):
        return kind.from_url(url, **options)
    nodes = redis_nodes.parse(url, group)
    follower = _FollowingTls if nodes.tls else _Following
    return kind.from_url(nodes.server, connection_class=follower, whereabouts=find(nodes, key), **options)


def require_primary(connection: Any) -> None:
    """Log in, and refuse a server that is a replica: what it answers may be old. Raises redis.ReadOnlyError."""
    connection.on_connect()
    connection.send_command("INFO", "replication")
    if "role:master" not in str(connection.read_response()):
        raise redis.ReadOnlyError("the server is a replica now")
