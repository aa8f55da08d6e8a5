# SPDX-License-Identifier: Apache-2.0
"""Connections to Redis: bounded waits, the identity check on each new one, and the retry at the edge."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import redis
import tenacity
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.exceptions import NoScriptError
from redis.retry import Retry

from rpcapi import errors
from scheduler_svc.store.redis.identity import Identity
from scheduler_svc.store.redis.scripts import Script, load

T = TypeVar("T")

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 10.0  # longer than any script; a snapshot of a large partition needs the most
BLOCK_MS = 10_000  # the longest that one blocking read waits
TRIES = 3
_AGAIN = (redis.ConnectionError, redis.TimeoutError, redis.BusyLoadingError, redis.ReadOnlyError)


class Forgotten(redis.RedisError):
    """Raised when a script finds a partition without an epoch: its keys are gone under a server that stayed."""


class Connection:
    """One partition's way to Redis. Every verb is idempotent, so that one which got no answer is sent again."""

    def __init__(self, url: str, partition: str, identity: Identity, log_length: int) -> None:
        self.partition = partition
        self.identity = identity
        self.log_length = log_length
        self._client = self._open(url, ANSWER_SECONDS)
        # redis-py would give up on a blocking read, and silently send it again, at an answer's ordinary limit.
        self._reader = self._open(url, BLOCK_MS / 1000 + ANSWER_SECONDS)

    def run(self, name: str, *arguments: Any, namespace: str = "") -> Any:
        """Run the verb ``name`` with the log's length before ``arguments``; raises StoreUnavailable.

        ``namespace`` is whose documents the verb changes, where it changes any.
        """
        script = load(name)
        keys = script.keys(self.partition, namespace)
        return self.each_try(lambda: self._evaluate(script, keys, (self.log_length, *arguments)))

    def read(self, fill: Callable[[Any], Any]) -> list[Any]:
        """Return the answers to the commands that ``fill`` puts into one transaction: one atomic look."""

        def once() -> list[Any]:
            pipeline = self._client.pipeline(transaction=True)
            fill(pipeline)
            return pipeline.execute()

        return self.each_try(once)

    def wait(self, read: Callable[[redis.Redis], T]) -> T:
        """Return the answer to a blocking read; one that fails is not repeated here."""
        try:
            return read(self._reader)
        except redis.RedisError as error:
            raise _unavailable(error) from error

    def know_identity(self) -> int:
        """Compare who the store is with who it was; return its epoch."""
        return self.each_try(lambda: self.identity.check(self._client.execute_command))

    def each_try(self, once: Callable[[], T]) -> T:
        """Return what ``once`` does, tried again where no answer came; raises StoreUnavailable."""
        try:
            return once()
        except (*_AGAIN, Forgotten):
            return self._again(once)
        except redis.RedisError as error:
            raise _unavailable(error) from error

    def _again(self, once: Callable[[], T]) -> T:
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(TRIES - 1),
            wait=tenacity.wait_random_exponential(multiplier=0.05, max=0.5),
            retry=tenacity.retry_if_exception_type((*_AGAIN, Forgotten)),
            reraise=True,
        )
        try:
            return retrying(once)
        except redis.RedisError as error:
            raise _unavailable(error) from error

    def close(self) -> None:
        """Let go of all connections."""
        self._client.close()
        self._reader.close()

    def _open(self, url: str, answer_seconds: float) -> redis.Redis:
        options: dict[str, Any] = {
            "decode_responses": True,
            "protocol": 2,
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_timeout": answer_seconds,
            "retry": Retry(NoBackoff(), 0),  # tries are counted in one place: each_try
            "redis_connect_func": self._greet,
        }
        if not url.startswith("unix"):
            options["socket_keepalive"] = True
        try:
            return redis.Redis.from_url(url, **options)
        except ValueError as error:
            raise errors.BadConfiguration(why=f"[store] url is not one that Redis has: {error}") from error

    def _greet(self, connection: AbstractConnection) -> None:
        """Log in, and learn who answers before any verb is sent through this connection."""
        connection.on_connect()

        def ask(*command: Any) -> Any:
            connection.send_command(*command)
            return connection.read_response()

        self.identity.check(ask)

    def _evaluate(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        try:
            return self._evalsha(script, keys, arguments)
        except redis.ResponseError as error:
            if not str(error).startswith("NOEPOCH"):
                raise
            self.identity.check(self._client.execute_command)
            raise Forgotten(str(error)) from error

    def _evalsha(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        try:
            return self._client.evalsha(script.sha, len(keys), *keys, *arguments)
        except NoScriptError:
            self._client.script_load(script.text)
            return self._client.evalsha(script.sha, len(keys), *keys, *arguments)


def _unavailable(error: redis.RedisError) -> errors.StoreUnavailable:
    return errors.StoreUnavailable(why=f"{type(error).__name__}: {error}")
