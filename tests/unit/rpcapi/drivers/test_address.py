# SPDX-License-Identifier: Apache-2.0
"""What a transport URL says of the bus's Redis, as it stands in a file and as oslo.messaging writes it."""

import pytest
from oslo_config import cfg
from oslo_messaging import TransportURL

from rpcapi.drivers.address import Address, parse

HERE = Address(host="127.0.0.1", port=6379, socket=None, database=0, username=None, password=None)
KNOWN = [
    ("gantt+redis://", HERE),
    ("gantt+redis://:6400/", Address("127.0.0.1", 6400, None, 0, None, None)),
    ("gantt+redis://us%40er:p%2Fss%3A%40@[::1]:7000/3", Address("::1", 7000, None, 3, "us@er", "p/ss:@")),
    ("gantt+redis://:word@host", Address("host", 6379, None, 0, None, "word")),
    ("gantt+redis://bus:word@/2?socket=/run/a b.sock", Address(None, 6379, "/run/a b.sock", 2, "bus", "word")),
]


@pytest.mark.parametrize(("url", "address"), KNOWN)
def test_what_it_says(conf: cfg.ConfigOpts, url: str, address: Address) -> None:
    assert parse(url) == address
    assert parse(str(TransportURL.parse(conf, url))) == address


def test_its_text_does_not_show_the_password() -> None:
    address = parse("gantt+redis://user:s3cret@host/")
    assert "s3cret" not in f"{address} {address!r}"
