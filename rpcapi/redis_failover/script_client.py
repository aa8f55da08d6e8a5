# SPDX-License-Identifier: Apache-2.0
"""Redis client for short scripts."""

import os
import socket
import ssl
import struct
from collections import deque
from collections.abc import Sequence
from typing import Any, cast

import redis
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.exceptions import NoScriptError
from redis.retry import Retry

from rpcapi import errors
from rpcapi.redis_failover.connection import is_not_primary, pool
from rpcapi.redis_failover.identity import ServerIdentity


def use_fewer_system_calls(connection: Any, *, on_green_threads: bool) -> None:
    """Make each read and write of a fresh connection one system call, with the same timeout.

    redis-py polls for unread answers before each command, half of the cost of a short one; there are none, because an
    interrupted command closes its connection. Python polls before each read and write; the kernel enforces the timeout
    instead, except on green threads and TLS.
    """
    connection.can_read = _nothing_unread
    sock, seconds = connection._sock, connection.socket_timeout
    if on_green_threads or isinstance(sock, ssl.SSLSocket) or not seconds:
        return
    limit = struct.pack("ll", int(seconds), int(seconds % 1 * 1_000_000))  # C's struct timeval
    sock.settimeout(None)
    for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
        sock.setsockopt(socket.SOL_SOCKET, option, limit)


def _nothing_unread(timeout: float = 0) -> bool:
    return False


class ScriptClient(redis.Redis):
    """Client that keeps connections: taking one from the pool is two thirds of a short script's client time."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle: deque[AbstractConnection] = deque()
        self._pid = os.getpid()

    def execute_together(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the answers to commands sent as one packet, a ResponseError for each failure.

        After other redis-py errors it is unknown which commands were executed.
        """
        answers: list[Any] = []
        connection = self._take()
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            for _ in commands:
                try:
                    answers.append(connection.read_response())
                except redis.ResponseError as error:
                    answers.append(error)
            if any(map(_is_of_another_server, answers)):
                connection.disconnect()
        except BaseException:
            connection.disconnect()
            raise
        finally:
            self._idle.append(connection)
        return answers

    def _take(self) -> AbstractConnection:
        if self._pid != os.getpid():
            # The connections belong to the parent process.
            self._idle.clear()
            self._pid = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            connection: AbstractConnection = self.connection_pool.get_connection()
            return connection


def _is_of_another_server(answer: Any) -> bool:
    return isinstance(answer, NoScriptError) or (isinstance(answer, redis.ResponseError) and is_not_primary(answer))


def open_client(
    url: str,
    key: str,
    group: str,
    identity: ServerIdentity,
    *,
    on_green_threads: bool,
    kind: type[redis.ConnectionPool] = redis.ConnectionPool,
    **options: Any,
) -> ScriptClient:
    """Return a lazy client whose connections ``identity`` checks; raises BadConfiguration for an unusable URL."""

    def on_connect(fresh: AbstractConnection) -> None:
        use_fewer_system_calls(fresh, on_green_threads=on_green_threads)
        identity.check_connection(fresh)

    # Only rpcapi.redis_failover.retries retries.
    options |= {"decode_responses": True, "protocol": 2, "retry": Retry(NoBackoff(), 0)}
    if not url.startswith("unix"):
        options["socket_keepalive"] = True
    try:
        connections = pool(url, key, group, kind, redis_connect_func=on_connect, **options)
        # Created without connecting, to reveal unsupported options.
        connections.connection_class(**connections.connection_kwargs)
    except (TypeError, ValueError) as error:
        raise errors.BadConfiguration(why=f"[{group}] url cannot be used: {error}") from error
    return cast("ScriptClient", ScriptClient.from_pool(connections))
