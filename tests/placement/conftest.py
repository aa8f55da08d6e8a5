# SPDX-License-Identifier: Apache-2.0
"""Running gantt-placements for the tests of a session."""

from collections.abc import Iterator

import pytest

from tests.placement.servers import DEPLOYMENTS, Servers


@pytest.fixture(scope="session", params=DEPLOYMENTS)
def placement_servers(request: pytest.FixtureRequest, redis_server) -> Iterator[Servers]:
    """The servers of each deployment in turn."""
    servers = Servers(DEPLOYMENTS[request.param], redis_server.url())
    yield servers
    servers.stop()
