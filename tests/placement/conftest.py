# SPDX-License-Identifier: Apache-2.0
"""Running gantt-placements for the tests of a session."""

from collections.abc import Iterator

import pytest

from devstack.deploy.users.redis_users import PLACEMENT, STORE_USERS
from devstack.servers.redis import RedisServer
from devstack.servers.redis_binary import redis_binary
from tests.support.placement.servers import DEPLOYMENTS, Servers
from tests.support.run_folders import claim_folder, release_folder


@pytest.fixture(scope="session")
def placement_store() -> Iterator[RedisServer]:
    """A private Redis on which gantt-placement has its own user, and no more permissions than it needs."""
    folder = claim_folder()
    server = RedisServer(folder, binary=redis_binary(), users=STORE_USERS)
    server.start()
    yield server
    server.stop()
    release_folder(folder)


@pytest.fixture(scope="session", params=DEPLOYMENTS)
def placement_servers(request: pytest.FixtureRequest, placement_store: RedisServer) -> Iterator[Servers]:
    """The servers of each deployment in turn."""
    servers = Servers(DEPLOYMENTS[request.param], placement_store.url(PLACEMENT.name))
    yield servers
    servers.stop()
