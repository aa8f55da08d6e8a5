# SPDX-License-Identifier: Apache-2.0
"""Validation of transport_url before oslo.messaging is imported; addresses of the embedded bus."""

from pathlib import Path

import pytest
from oslo_config import cfg
from oslo_messaging import TransportURL

from rpcapi.conf import transport
from rpcapi.conf.transport import RedisAddress, parse_redis_url

VALID = [
    "gantt+redis:///0?socket=/run/gantt/bus.sock",
    "gantt+redis://user:p%40ss@host:6379/0",
    "gantt-rabbit://user:word@one:5672,user:word@two:5672/vhost",
    "rabbit://user:word@[::1]:5672/vhost",
    "rabbit://host",
    "fake://",
]


@pytest.mark.parametrize("text", [*(f"transport_url = {url}" for url in VALID), ""])
def test_valid_url_passes(tmp_path: Path, text: str) -> None:
    path = tmp_path / "gantt.conf"
    path.write_text(f"[DEFAULT]\n{text}\n")
    conf = cfg.ConfigOpts()
    conf([], project="gantt", default_config_files=[str(path)], default_config_dirs=[])
    transport.check(conf)
    assert "transport_url" not in conf, "oslo.messaging registers it"


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
