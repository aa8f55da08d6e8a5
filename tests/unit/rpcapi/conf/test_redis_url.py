# SPDX-License-Identifier: Apache-2.0
"""Validation of Redis URLs; errors never show the URL."""

import pytest

from rpcapi import errors
from rpcapi.conf import redis_url


@pytest.mark.parametrize(
    "url",
    [
        "redis://u:p%40ss@host:6379/0?socket_timeout=3",
        "rediss://host?ssl_ca_certs=/ca",
        "unix:///run/redis.sock?db=1",
        "memory://",
        "redis+sentinel://u:p@h1,h2/service",
        "redis+cluster://h1,h2",
    ],
)
def test_valid_url_passes(url):
    redis_url.check("store", url)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("secret", "must begin with one of redis://"),
        ("postgresql://u:secret@h/db", "must begin with one of redis://"),
        ("redis://u:secret@h:port", "has an invalid address"),
        ("redis://u:secret@[::1", "has an invalid address"),
        ("unix://?db=secret", "has no socket path"),
        ("redis://h?secret=1", "unknown option after its '?'; known: client_name"),
        ("redis://h?ssl_ca_certs=secret", "unknown option"),
        ("unix:///s?socket_keepalive=secret", "unknown option"),
        ("redis://h?db=secret", "db must be a number"),
        ("redis://h?db=", "db must be a number"),
        ("redis://h?db=secret&db=1", "db must be a number"),
        ("rediss://h?ssl_cert_reqs=secret&ssl_cert_reqs=required", "ssl_cert_reqs must be"),
        ("redis+cluster://u:secret@h/1", "supports only database 0"),
    ],
)
def test_invalid_url_is_refused_and_not_shown(url, sentence):
    with pytest.raises(errors.BadConfiguration) as caught:
        redis_url.check("store", url)
    assert caught.value.sentence.startswith("Bad configuration: [store] url")
    assert sentence in caught.value.sentence
    assert "secret" not in caught.value.sentence


def test_unknown_scheme_error_lists_the_known_schemes():
    with pytest.raises(errors.BadConfiguration, match=r"redis\+sentinel://, rediss\+sentinel://, redis\+cluster://"):
        redis_url.check("store", "redis+valkey://h")
