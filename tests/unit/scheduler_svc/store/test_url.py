# SPDX-License-Identifier: Apache-2.0
"""Validation of store URLs."""

import pytest

from rpcapi import errors
from scheduler_svc.store import url as store_url
from scheduler_svc.store.factory import open_store

GOOD = [
    "redis://127.0.0.1:6379/0",
    "memory://",
    "sqlite:////var/lib/gantt/store.sqlite",
    "postgresql://gantt:pw%40@db.example.org:5433/gantt?sslmode=verify-full",
    "postgresql://gantt@/gantt?host=/run/postgresql",
    "postgresql:///gantt?host=a:5432&host=b:5432&target_session_attrs=read-write",
]
BAD = {
    "sqlite://store.sqlite": "absolute path",
    "sqlite:///store.sqlite": "absolute path",
    "sqlite://": "absolute path",
    "sqlite:////store.sqlite?mode=memory": "absolute path",
    "postgresql://hidden@host": "no database",
    "postgresql://u:hidden@host:port/db": "invalid address",
    "postgresql://u@host/db?hidden": "unknown option",
    "mysql://u:hidden@host/db": "must begin with",
    "hidden": "must begin with",
    "memcached://127.0.0.1:11211": "cannot store claims",
}


@pytest.mark.parametrize("url", GOOD)
def test_valid_store_urls(url: str) -> None:
    store_url.check("store", url)


@pytest.mark.parametrize("url", BAD)
def test_invalid_store_url_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=BAD[url]) as caught:
        store_url.check("store", url)
    assert "hidden" not in str(caught.value)


def test_memcached_is_refused_for_claims() -> None:
    with pytest.raises(errors.BadConfiguration, match=r"state_url"):
        open_store("memcached://127.0.0.1:11211", "p1")


@pytest.mark.parametrize("url", ["memcached://127.0.0.1:11211", "memcached://cache", "memcached:///run/memcached.sock"])
def test_valid_state_urls(url: str) -> None:
    store_url.check_state_url("store", url, ["volume"])
    store_url.check_state_url("store", None, [])


@pytest.mark.parametrize(
    ("url", "namespaces"),
    [
        ("memcached://127.0.0.1", []),
        (None, ["volume"]),
        ("memcached://", ["volume"]),
        ("memcached://host:port", ["volume"]),
        ("redis://127.0.0.1", ["volume"]),
        ("memcached://127.0.0.1", ["volume", "service"]),
        ("memcached://127.0.0.1", ["volume", "aggregate"]),
    ],
)
def test_invalid_state_urls_are_refused(url: str | None, namespaces: list[str]) -> None:
    with pytest.raises(errors.BadConfiguration, match="state_"):
        store_url.check_state_url("store", url, namespaces)
