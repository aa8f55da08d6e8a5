# SPDX-License-Identifier: Apache-2.0
"""URLs of several servers: read whole, or refused without a word of what they hold."""

import pytest

from rpcapi import errors
from rpcapi.conf import redis_nodes, redis_url


def test_sentinels_and_their_service() -> None:
    url = "redis+sentinel://me:p%40ss@h1:1,h2,[::1]:3/my.service/2?client_name=x&sentinel_username=s&sentinel_password=t%2F"
    nodes = redis_nodes.parse(url, "store")
    assert (nodes.kind, nodes.tls, nodes.service) == ("sentinel", False, "my.service")
    assert nodes.names == ("h1:1", "h2:26379", "[::1]:3")
    assert nodes.asked[0] == "redis://s:t%2F@h1:1/0?"
    assert nodes.server == "redis://me:p%40ss@h1:1/2?client_name=x"


def test_sentinels_that_need_no_login() -> None:
    nodes = redis_nodes.parse("redis+sentinel://me:pass@h1/s", "store")
    assert nodes.asked == ("redis://h1:26379/0?",)


def test_nodes_of_a_cluster_over_tls() -> None:
    nodes = redis_nodes.parse("rediss+cluster://me:pass@h1,h2:7000/?ssl_ca_certs=/ca", "store")
    assert (nodes.kind, nodes.tls) == ("cluster", True)
    assert nodes.asked == (
        "rediss://me:pass@h1:6379/0?ssl_ca_certs=%2Fca",
        "rediss://me:pass@h2:7000/0?ssl_ca_certs=%2Fca",
    )


def test_tls_of_sentinels_is_that_of_the_servers() -> None:
    nodes = redis_nodes.parse("rediss+sentinel://me:pass@h1/s?ssl_ca_certs=/ca&client_name=x", "store")
    assert nodes.asked == ("rediss://h1:26379/0?ssl_ca_certs=%2Fca",)


def test_nothing_shows_a_password() -> None:
    url = "redis+sentinel://me:secret@h1/s?sentinel_username=s&sentinel_password=secret"
    assert "secret" not in repr(redis_nodes.parse(url, "store"))


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
def test_url_that_is_none_is_refused_and_not_shown(url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match=r"\[store\] url") as caught:
        redis_url.check("store", url)
    assert "secret" not in str(caught.value)


def test_other_schemes_are_told_of() -> None:
    with pytest.raises(errors.BadConfiguration, match=r"redis\+sentinel://, rediss\+sentinel://, redis\+cluster://"):
        redis_url.check("store", "redis+valkey://h")
