# SPDX-License-Identifier: Apache-2.0
"""The connection to Redis: bounded waits, few tries, and errors of our own tree."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from conductor.store.keys import PREFIX
from conductor.store.scripts import Script
from rpcapi import errors
from rpcapi.conf.replicas import Replicas
from rpcapi.primary import connection, tries
from rpcapi.primary.evaluate import NotReplicated, evaluate

T = TypeVar("T")

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
CONNECTIONS = 128  # more than threads that may ask at a time
# What these write nobody was promised: a lease that a failover forgets is taken again. No replica is waited for.
UNACKNOWLEDGED = frozenset({"load", "page_everything", "page_listed", "purge", "release", "take"})


class Connection:
    """The way to the Redis that holds the records: ``redis://user:password@host:port/0``, or any other URL of one.

    A call that got no answer is repeated: each verb may be, since it is recorded once, or compared with what is
    recorded. Raises BadConfiguration for a URL that is none.
    """

    def __init__(self, url: str, replicas: Replicas | None = None) -> None:
        self._replicas = replicas or Replicas()
        try:
            pool = connection.pool(
                url,
                PREFIX,
                "conductor_store",
                redis.BlockingConnectionPool,
                max_connections=CONNECTIONS,
                timeout=ANSWER_SECONDS,
                decode_responses=True,
                socket_connect_timeout=CONNECT_SECONDS,
                socket_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 0),  # tries are counted in one place: ask
                redis_connect_func=connection.require_primary,
            )
            # Made and let go: an option that a connection does not have shows only here. It does not connect yet.
            pool.connection_class(**pool.connection_kwargs)
        except (TypeError, ValueError) as error:
            raise errors.BadConfiguration(why=f"[conductor_store] url cannot be used: {error}") from error
        self._client = redis.Redis.from_pool(pool)

    def run(self, script: Script, arguments: Sequence[str | int]) -> Any:
        """Return a script's answer, when enough replicas have what it wrote; raises StoreUnavailable."""
        replicas = Replicas() if script.name in UNACKNOWLEDGED else self._replicas
        return self.ask(
            lambda client: evaluate(client, script.sha, script.text, script.keys, arguments, replicas=replicas)
        )

    def ask(self, once: Callable[[redis.Redis], T]) -> T:
        """Return what ``once`` reads; raises StoreUnavailable, which a caller may answer with a retry."""
        try:
            return tries.run(lambda: once(self._client))
        except redis.exceptions.NoPermissionError as error:
            raise errors.StoreUnavailable(why=f"its user lacks a permission: {error}") from error
        except redis.exceptions.OutOfMemoryError as error:
            raise errors.StoreUnavailable(why=f"it is out of memory: {error}") from error
        except redis.RedisError as error:
            if isinstance(error, NotReplicated) or tries.got_no_answer(error):
                raise errors.StoreUnavailable(why=str(error) or type(error).__name__) from error
            raise

    def close(self) -> None:
        """Let go of all connections."""
        self._client.close()
