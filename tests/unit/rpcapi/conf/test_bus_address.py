# SPDX-License-Identifier: Apache-2.0
"""Transport URLs of the embedded bus, as written in a file and as oslo.messaging formats them."""

import pytest
from oslo_config import cfg
from oslo_messaging import TransportURL

from rpcapi.conf.transport import RedisAddress, parse_redis_url

LOCAL = RedisAddress(host="127.0.0.1", port=6379, socket=None, database=0, username=None, password=None)
URLS = [
    ("gantt+redis://", LOCAL),
    ("gantt+redis://:6400/", RedisAddress("127.0.0.1", 6400, None, 0, None, None)),
    ("gantt+redis://us%40er:p%2Fss%3A%40@[::1]:7000/3", RedisAddress("::1", 7000, None, 3, "us@er", "p/ss:@")),
    ("gantt+redis://:word@host", RedisAddress("host", 6379, None, 0, None, "word")),
    ("gantt+redis://bus:word@/2?socket=/run/a b.sock", RedisAddress(None, 6379, "/run/a b.sock", 2, "bus", "word")),
]


@pytest.mark.parametrize(("url", "address"), URLS)
def test_transport_url_is_parsed(conf: cfg.ConfigOpts, url: str, address: RedisAddress) -> None:
    assert parse_redis_url(url) == address
    assert parse_redis_url(str(TransportURL.parse(conf, url))) == address


def test_text_of_an_address_hides_the_password() -> None:
    address = parse_redis_url("gantt+redis://user:s3cret@host/")
    assert "s3cret" not in f"{address} {address!r}"
