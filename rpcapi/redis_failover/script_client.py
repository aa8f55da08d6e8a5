# SPDX-License-Identifier: Apache-2.0
"""A Redis client for the short scripts of a store."""

import os
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
from rpcapi.redis_failover.system_calls import use_fewer_system_calls


class ScriptClient(redis.Redis):
    """A client that keeps the connections of scripts, one for each that runs at the same time.

    redis-py takes a connection from its pool for each command, counts it, and gives it back: two thirds of the time
    that it needs for a script. The pool goes on to own the connections, and closes them with all others. Only
    `execute_together` uses them.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._idle: deque[AbstractConnection] = deque()
        self._pid = os.getpid()

    def execute_together(self, commands: Sequence[Sequence[Any]]) -> list[Any]:
        """Return the answers to commands that are sent in one packet, a ResponseError for one that fails.

        Raises other errors of redis-py: then it is unknown which of the commands were carried out. A connection without
        an answer, or to a server that is not the primary any more, connects again when it is used next. So does one to
        a server that lacks a script, which a former primary says instead of what it is.
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
            # The connections belong to the process that this one was forked from.
            self._idle.clear()
            self._pid = os.getpid()
        try:
            return self._idle.pop()
        except IndexError:
            connection: AbstractConnection = self.connection_pool.get_connection()
            return connection


def _is_of_another_server(answer: Any) -> bool:
    """Return whether an answer is that of a former primary, which may also say that it lacks the script."""
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
    """Return a client of the primary of ``key``, which checks the server's identity on each new connection.

    Nothing is sent yet. ``options`` are those of connections. Raises BadConfiguration, naming option ``url`` of
    ``group``, for a URL that cannot be used.
    """

    def on_connect(fresh: AbstractConnection) -> None:
        use_fewer_system_calls(fresh, on_green_threads=on_green_threads)
        identity.check_connection(fresh)

    # Tries are counted in one place: rpcapi.redis_failover.retries.
    options |= {"decode_responses": True, "protocol": 2, "retry": Retry(NoBackoff(), 0)}
    if not url.startswith("unix"):
        options["socket_keepalive"] = True
    try:
        connections = pool(url, key, group, kind, redis_connect_func=on_connect, **options)
        # Created and discarded: reveals an unsupported connection option. It does not connect yet.
        connections.connection_class(**connections.connection_kwargs)
    except (TypeError, ValueError) as error:
        raise errors.BadConfiguration(why=f"[{group}] url cannot be used: {error}") from error
    return cast("ScriptClient", ScriptClient.from_pool(connections))
