# SPDX-License-Identifier: Apache-2.0
"""Servers and clients on the embedded bus, here and in processes of their own."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from devstack.servers.redis import RedisServer
from tests.contract.bus_peer import Ending, Peers
from tests.contract.embedded.processes import Processes
from tests.contract.embedded.settings import QUICK


@pytest.fixture
def make_peers(ending: Ending) -> Iterator[Callable[..., Peers]]:
    made: list[Peers] = []

    def make(server: RedisServer, user: str | None = None, **options: Any) -> Peers:
        made.append(Peers(server.bus_url(user), ending, **{**QUICK, **options}))
        return made[-1]

    yield make
    for peers in made:
        peers.close()


@pytest.fixture
def peers(make_peers: Callable[..., Peers], redis_server: RedisServer) -> Peers:
    return make_peers(redis_server)


@pytest.fixture
def processes() -> Iterator[Processes]:
    made = Processes()
    yield made
    made.kill_all()
