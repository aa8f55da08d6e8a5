# SPDX-License-Identifier: Apache-2.0
"""Servers and clients on each transport: oslo.messaging's fake, the embedded bus, RabbitMQ."""

from collections.abc import Iterator

import pytest

from tests.contract.bus_peer import TRANSPORTS, Ending, Peers


@pytest.fixture(scope="module")
def ending() -> Iterator[Ending]:
    made = Ending()
    yield made
    made.finish()


@pytest.fixture(params=TRANSPORTS)
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "embedded":
        return str(request.getfixturevalue("redis_server").bus_url())
    if request.param == "rabbit":
        return str(request.getfixturevalue("rabbit_node").url())
    return "fake:///"


@pytest.fixture
def peers(url: str, ending: Ending) -> Iterator[Peers]:
    made = Peers(url, ending)
    yield made
    made.close()
