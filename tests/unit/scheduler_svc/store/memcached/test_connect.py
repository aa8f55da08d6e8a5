# SPDX-License-Identifier: Apache-2.0
"""Commands to memcached: what is repeated, and the errors raised."""

from typing import Any
from unittest import mock

import pytest
from pymemcache import exceptions

from rpcapi import errors
from scheduler_svc.store.memcached.connect import MemcachedConnection


@pytest.fixture
def client() -> Any:
    """A fake of the pooled client."""
    with mock.patch("scheduler_svc.store.memcached.connect.PooledClient") as make_client:
        yield make_client.return_value


@pytest.mark.parametrize("error", [ConnectionResetError(), exceptions.MemcacheUnexpectedCloseError()])
def test_command_on_a_closed_connection_is_repeated_once(client: Any, error: Exception) -> None:
    client.gets.side_effect = [error, (b"1", b"7")]
    assert MemcachedConnection("memcached://h:1").gets("key") == (b"1", b"7")
    client.gets.side_effect = error
    with pytest.raises(errors.StoreUnavailable, match=f"memcached: {type(error).__name__}"):
        MemcachedConnection("memcached://h:1").gets("key")
    assert client.gets.call_count == 4


def test_server_error_is_unavailable_and_not_repeated(client: Any) -> None:
    client.get_many.side_effect = exceptions.MemcacheServerError("out of memory storing object")
    with pytest.raises(errors.StoreUnavailable, match="out of memory"):
        MemcachedConnection("memcached://h:1").get_many(["key"])
    assert client.get_many.call_count == 1


def test_too_large_value_is_an_invalid_request(client: Any) -> None:
    client.add.side_effect = exceptions.MemcacheServerError("object too large for cache")
    with pytest.raises(errors.InvalidRequest, match="item size"):
        MemcachedConnection("memcached://h:1").swap("key", b"1", None)


def test_new_key_is_added_and_a_read_one_swapped(client: Any) -> None:
    connection = MemcachedConnection("memcached://h:1")
    client.add.return_value, client.cas.return_value = True, None
    assert connection.swap("key", b"1", None) is True
    assert connection.swap("key", b"1", b"7", expire=9) is False
    client.add.assert_called_once_with("key", b"1", expire=0)
    client.cas.assert_called_once_with("key", b"1", b"7", expire=9)
