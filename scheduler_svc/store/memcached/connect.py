# SPDX-License-Identifier: Apache-2.0
"""memcached client with timeouts, one retry, and gantt's errors."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

import tenacity
from pymemcache import exceptions
from pymemcache.client.base import PooledClient

from rpcapi import errors

T = TypeVar("T")

PORT = 11211
SECONDS = 2.0  # timeout of connecting and of each answer
CONNECTIONS = 16
# Retry once: a pooled connection may be dead. Repeating a swap is safe, because the caller reads again if it fails.
_RETRY = tenacity.Retrying(
    stop=tenacity.stop_after_attempt(2),
    retry=tenacity.retry_if_exception_type((OSError, exceptions.MemcacheUnexpectedCloseError)),
    reraise=True,
)
TOO_LARGE = "too large"  # part of memcached's error for a value above its item size limit


class MemcachedConnection:
    """Pooled memcached client. Every command raises StoreUnavailable if the server does not answer."""

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
        """Return (value, CAS token), or (None, None) for a missing key."""
        value, token = self._run(lambda: self._client.gets(key))
        return value, token

    def get_many(self, keys: Iterable[str]) -> Mapping[str, bytes]:
        key_list = list(keys)
        return self._run(lambda: self._client.get_many(key_list))

    def swap(self, key: str, value: bytes, token: bytes | None, expire: int = 0) -> bool:
        """Store ``value`` if the key is unchanged since ``token`` was read; None requires a missing key."""
        if token is None:
            return bool(self._run(lambda: self._client.add(key, value, expire=expire)))
        return bool(self._run(lambda: self._client.cas(key, value, token, expire=expire)))

    def close(self) -> None:
        self._client.close()

    @staticmethod
    def _run(command: Callable[[], T]) -> T:
        try:
            return _RETRY(command)
        except exceptions.MemcacheServerError as error:
            if TOO_LARGE in str(error):
                raise errors.InvalidRequest(why="the document exceeds memcached's item size limit") from error
            raise _unavailable(error) from error
        except (exceptions.MemcacheError, OSError) as error:
            raise _unavailable(error) from error


def _unavailable(error: Any) -> errors.StoreUnavailable:
    return errors.StoreUnavailable(why=f"memcached: {type(error).__name__}: {error}")
