# SPDX-License-Identifier: Apache-2.0
"""Fixtures for servers and clients on each transport: oslo.messaging's fake, the embedded bus, RabbitMQ."""

from collections.abc import Iterator

import pytest

from tests.support.bus.bus_peer import TRANSPORTS, Ending, Peers
from tests.support.run_order import RABBITMQ, unit_of


@pytest.fixture(scope="module")
def ending() -> Iterator[Ending]:
    cleanup = Ending()
    yield cleanup
    cleanup.finish()


@pytest.fixture(params=TRANSPORTS)
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "embedded":
        return str(request.getfixturevalue("redis_server").bus_url())
    if request.param == "rabbit":
        assert unit_of(request.node.nodeid) == RABBITMQ, "run_order.py does not know that this file uses RabbitMQ"
        return str(request.getfixturevalue("rabbit_node").url())
    return "fake:///"


@pytest.fixture
def peers(url: str, ending: Ending) -> Iterator[Peers]:
    peers = Peers(url, ending)
    yield peers
    peers.close()
