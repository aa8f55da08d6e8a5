# SPDX-License-Identifier: Apache-2.0
"""Fixtures for servers and clients on the embedded bus, in this process and in separate ones."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from tests.contract.embedded.processes import Processes
from tests.support.bus.bus_peer import Ending, Peers
from tests.support.bus.settings import QUICK


@pytest.fixture
def make_peers(ending: Ending) -> Iterator[Callable[..., Peers]]:
    created: list[Peers] = []

    def make(server: RedisServer, user: str | None = None, **options: Any) -> Peers:
        created.append(Peers(server.bus_url(user), ending, **{**QUICK, **options}))
        return created[-1]

    yield make
    for peers in created:
        peers.close()


@pytest.fixture
def peers(make_peers: Callable[..., Peers], redis_server: RedisServer) -> Peers:
    return make_peers(redis_server)


@pytest.fixture
def processes() -> Iterator[Processes]:
    started = Processes()
    yield started
    started.kill_all()
