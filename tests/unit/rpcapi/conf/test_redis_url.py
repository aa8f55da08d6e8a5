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


def test_sentinel_url_is_parsed() -> None:
    url = "redis+sentinel://me:p%40ss@h1:1,h2,[::1]:3/my.service/2?client_name=x&sentinel_username=s&sentinel_password=t%2F"
    nodes = redis_url.parse_nodes(url, "store")
    assert (nodes.kind, nodes.tls, nodes.service) == ("sentinel", False, "my.service")
    assert nodes.names == ("h1:1", "h2:26379", "[::1]:3")
    assert nodes.seed_urls[0] == "redis://s:t%2F@h1:1/0?"
    assert nodes.primary_url == "redis://me:p%40ss@h1:1/2?client_name=x"


def test_sentinel_url_without_sentinel_credentials() -> None:
    nodes = redis_url.parse_nodes("redis+sentinel://me:pass@h1/s", "store")
    assert nodes.seed_urls == ("redis://h1:26379/0?",)


def test_cluster_url_with_tls() -> None:
    nodes = redis_url.parse_nodes("rediss+cluster://me:pass@h1,h2:7000/?ssl_ca_certs=/ca", "store")
    assert (nodes.kind, nodes.tls) == ("cluster", True)
    assert nodes.seed_urls == (
        "rediss://me:pass@h1:6379/0?ssl_ca_certs=%2Fca",
        "rediss://me:pass@h2:7000/0?ssl_ca_certs=%2Fca",
    )


def test_sentinels_use_the_tls_options_of_the_servers() -> None:
    nodes = redis_url.parse_nodes("rediss+sentinel://me:pass@h1/s?ssl_ca_certs=/ca&client_name=x", "store")
    assert nodes.seed_urls == ("rediss://h1:26379/0?ssl_ca_certs=%2Fca",)


def test_repr_does_not_show_a_password() -> None:
    url = "redis+sentinel://me:secret@h1/s?sentinel_username=s&sentinel_password=secret"
    assert "secret" not in repr(redis_url.parse_nodes(url, "store"))


@pytest.mark.parametrize(
    "url",
    [
        "redis+sentinel://u:secret@/s",
        "redis+sentinel://u:secret@h1,,h2/s",
        "redis+sentinel://u:secret@h1:port/s",
        "redis+sentinel://u:secret/more@h1/s",
        "redis+sentinel://u:secret@h1",
        "redis+sentinel://u:secret@h1/",
        "redis+sentinel://u:secret@h1/two words",
        "redis+sentinel://u:secret@h1/s/secret",
        "redis+sentinel://u:half?secret@h1/s",
        "redis+sentinel://u:secret@h1/s?ssl_ca_certs=/ca",
        "redis+sentinel://u:secret@h1/s?db=1",
        "redis+cluster://u:secret@h1,h2:99999",
        "redis+cluster://u:secret@h1/1",
        "redis+cluster://u:secret@h1?sentinel_password=secret",
        "redis+cluster://",
    ],
)
def test_invalid_url_of_nodes_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=r"\[store\] url") as caught:
        redis_url.parse_nodes(url, "store")
    assert "secret" not in str(caught.value)
