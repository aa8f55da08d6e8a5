# SPDX-License-Identifier: Apache-2.0
"""The connection to Redis: bounded waits, and errors of our own tree."""

import contextlib
from collections.abc import Iterator

import redis
from redis import backoff, retry

from rpcapi import errors

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 10.0
TRIES = 3
CONNECTIONS = 128  # more than threads that may ask at a time

# What means that the server is away, or not yet or no more what it has to be, and not that we asked for nonsense.
AWAY = (
    redis.ConnectionError,
    redis.TimeoutError,
    redis.BusyLoadingError,
    redis.ReadOnlyError,
    redis.exceptions.TryAgainError,
    redis.exceptions.ClusterDownError,
)


def client(url: str) -> redis.Redis:
    """Return a client of ``redis://user:password@host:port/0`` or ``unix://user:password@/path?db=0``.

    A broken call is repeated: each verb may be, since it is recorded once, or compared with what is recorded.
    Raises BadConfiguration for a URL that is none.
    """
    try:
        pool = redis.BlockingConnectionPool.from_url(
            url,
            max_connections=CONNECTIONS,
            timeout=ANSWER_SECONDS,
            decode_responses=True,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=ANSWER_SECONDS,
            retry=retry.Retry(backoff.ExponentialBackoff(base=0.05, cap=1.0), TRIES),
        )
        # Made and let go: an option that a connection does not have shows only here. It does not connect yet.
        pool.connection_class(**pool.connection_kwargs)
    except (TypeError, ValueError) as error:
        raise errors.BadConfiguration(why=f"[conductor_store] url cannot be used: {error}") from error
    return redis.Redis(connection_pool=pool)


@contextlib.contextmanager
def translated() -> Iterator[None]:
    """Turn redis-py's errors into StoreUnavailable, which a caller may answer with a retry."""
    try:
        yield
    except AWAY as error:
        raise errors.StoreUnavailable(why=str(error) or type(error).__name__) from error
    except redis.exceptions.NoPermissionError as error:
        raise errors.StoreUnavailable(why=f"its user lacks a permission: {error}") from error
    except redis.exceptions.OutOfMemoryError as error:
        raise errors.StoreUnavailable(why=f"it is out of memory: {error}") from error
