# SPDX-License-Identifier: Apache-2.0
"""Connections to Redis: bounded waits, the identity check on each new one, and the retry at the edge."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.connection import AbstractConnection
from redis.retry import Retry

from rpcapi import errors
from rpcapi.conf.replicas import Replicas
from rpcapi.primary import connection, tries
from rpcapi.primary.evaluate import evaluate
from scheduler_svc.store.redis.identity import Identity
from scheduler_svc.store.redis.keys import prefix
from scheduler_svc.store.redis.scripts import Script, load

T = TypeVar("T")

CONNECT_SECONDS = 2.0
ANSWER_SECONDS = 10.0  # longer than any script; a snapshot of a large partition needs the most
BLOCK_MS = 2_000  # the longest that one blocking read waits
READER_SECONDS = BLOCK_MS / 1000 + 3  # after which a server that hangs is one that is away
# What these write is sent again anyway, or made again by the next turn: no replica is waited for.
UNACKNOWLEDGED = frozenset({"alive", "beat", "claims", "decide", "expire", "hosts", "reap", "report"})


class Forgotten(redis.RedisError):
    """Raised when a script finds a partition without an epoch: its keys are gone under a server that stayed."""


class Connection:
    """One partition's way to Redis. Every verb is idempotent, so that one which got no answer is sent again."""

    def __init__(
        self, url: str, partition: str, identity: Identity, log_length: int, replicas: Replicas | None = None
    ) -> None:
        self.partition = partition
        self._replicas = replicas or Replicas()
        self.identity = identity
        self.log_length = log_length
        self._client = self._open(url, ANSWER_SECONDS)
        # A blocking read may wait longer than others, and a follower is to notice soon that its server hangs.
        self._reader = self._open(url, READER_SECONDS)

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
            raise self._unavailable(error) from error

    def know_identity(self) -> int:
        """Compare who the store is with who it was; return its epoch."""
        return self.each_try(lambda: self.identity.check(self._client.execute_command))

    def each_try(self, once: Callable[[], T]) -> T:
        """Return what ``once`` does, tried again where no answer came; raises StoreUnavailable."""
        try:
            return tries.run(once, Forgotten)
        except redis.RedisError as error:
            raise self._unavailable(error) from error

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
            # A partition lies in one slot of a cluster, so that any of its keys tells where all are.
            return redis.Redis.from_pool(connection.pool(url, prefix(self.partition), "store", **options))
        except ValueError as error:
            raise errors.BadConfiguration(why=f"[store] url is not one that Redis has: {error}") from error

    def _greet(self, fresh: AbstractConnection) -> None:
        """Log in, and learn who answers before any verb is sent through this connection."""
        fresh.on_connect()
        # Before each command the pool asks the kernel whether an earlier answer was left unread, on green threads by
        # way of their hub: half of what a short command costs. None is, since who breaks off disconnects; and that a
        # server hung up is told by the command itself.
        fresh.can_read = _nothing_unread  # type: ignore[method-assign]

        def ask(*command: Any) -> Any:
            fresh.send_command(*command)
            return fresh.read_response()

        try:
            self.identity.check(ask)
        except errors.GanttError:
            fresh.disconnect()  # as redis-py does after errors of its own
            raise

    def _unavailable(self, error: redis.RedisError) -> errors.StoreUnavailable:
        # Others may well answer: who reads this is to know which does not.
        return errors.StoreUnavailable(why=f"partition {self.partition!r}: {type(error).__name__}: {error}")

    def _evaluate(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        replicas = Replicas() if script.name in UNACKNOWLEDGED else self._replicas
        try:
            return evaluate(self._client, script.sha, script.text, keys, arguments, replicas=replicas)
        except redis.ResponseError as error:
            if not str(error).startswith("NOEPOCH"):
                raise
            self.identity.check(self._client.execute_command)
            raise Forgotten(str(error)) from error


def _nothing_unread(timeout: float = 0) -> bool:
    return False
