# SPDX-License-Identifier: Apache-2.0
"""A memcached, with bounded waits and errors of ours."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import tenacity
from pymemcache import exceptions
from pymemcache.client.base import PooledClient

from rpcapi import errors

T = TypeVar("T")

PORT = 11211
SECONDS = 2.0  # for a connection, and for an answer
CONNECTIONS = 16
# A pooled connection may be one to a server that has ended since; a swap that was done is found done by its caller.
_AGAIN = tenacity.Retrying(
    stop=tenacity.stop_after_attempt(2),
    retry=tenacity.retry_if_exception_type((OSError, exceptions.MemcacheUnexpectedCloseError)),
    reraise=True,
)
TOO_LARGE = "too large"  # how memcached refuses a value beyond its item size


class Connection:
    """The few commands that are used; each raises StoreUnavailable when no answer came."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        server = parts.path if not parts.netloc else (str(parts.hostname), parts.port or PORT)
        self._client = PooledClient(
            server,
            connect_timeout=SECONDS,
            timeout=SECONDS,
            no_delay=bool(parts.netloc),
            max_pool_size=CONNECTIONS,
            default_noreply=False,
        )

    def gets(self, key: str) -> tuple[bytes | None, bytes | None]:
        """Return a value and its CAS token, (None, None) where there is none."""
        return self._answered(lambda: self._client.gets(key))

    def get_many(self, keys: Iterable[str]) -> Mapping[str, bytes]:
        """Return the values that there are."""
        wanted = list(keys)
        return self._answered(lambda: self._client.get_many(wanted))

    def swap(self, key: str, value: bytes, token: bytes | None, expire: int = 0) -> bool:
        """Store ``value`` unless another was stored since ``token`` was read; None: unless there is one."""
        if token is None:
            return bool(self._answered(lambda: self._client.add(key, value, expire=expire)))
        return bool(self._answered(lambda: self._client.cas(key, value, token, expire=expire)))

    def close(self) -> None:
        """Let go of all connections."""
        self._client.close()

    @staticmethod
    def _answered(ask: Callable[[], T]) -> T:
        try:
            return _AGAIN(ask)
        except exceptions.MemcacheServerError as error:
            if TOO_LARGE in str(error):
                raise errors.InvalidRequest(why="memcached has no room for a document so large") from error
            raise _unavailable(error) from error
        except (exceptions.MemcacheError, OSError) as error:
            raise _unavailable(error) from error


def _unavailable(error: Any) -> errors.StoreUnavailable:
    return errors.StoreUnavailable(why=f"memcached: {type(error).__name__}: {error}")
