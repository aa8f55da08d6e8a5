# SPDX-License-Identifier: Apache-2.0
"""Custom resources of a child provider, by Nova's own fake driver."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.nova.actions import SMALL, boot, host_of, migration_of, provider_of, refused
from tests.nova.conftest import SIZE, compared, require_equal, started_cloud
from tests.support.nova.checked_cloud import CheckedCloud

OPTIONS = {"DEFAULT": {"compute_driver": "fake.MediumFakeDriverWithNestedCustomResources"}}
FLAVOR = "magic"
MAGIC = {"CUSTOM_MAGIC": 5}  # half of what a host has


@pytest.fixture(scope="module")
def running_cloud() -> Iterator[CheckedCloud]:
    """A cloud of two computes."""
    with started_cloud(replace(SIZE, computes=2, nova_options=OPTIONS)) as cloud:
        cloud.nova.create_flavor(FLAVOR, 1, 512, 4, **{"resources:CUSTOM_MAGIC": "5"})
        yield cloud


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers."""
    with compared(running_cloud):
        yield running_cloud


def allocations_of(cloud: CheckedCloud, host: str) -> dict[str, dict[str, int]]:
    """Return what a server of the flavor holds from the tree of a host."""
    return {provider_of(cloud, host): SMALL, provider_of(cloud, f"{host}-child"): MAGIC}


def test_servers_fill_the_child_providers_exactly(cloud: CheckedCloud) -> None:
    servers = [cloud.nova.boot(f"server{number}", FLAVOR) for number in range(2 * cloud.size.computes)]
    for record in cloud.nova.wait_for(servers, "ACTIVE"):
        assert cloud.placement.allocations(record["id"]) == allocations_of(cloud, record["OS-EXT-SRV-ATTR:host"])
    assert "No valid host was found" in refused(cloud, FLAVOR)


@pytest.mark.parametrize(("action", "ends_on_source"), [("confirmResize", False), ("revertResize", True)])
def test_cold_migration_moves_the_whole_tree(cloud: CheckedCloud, action: str, ends_on_source: bool) -> None:
    server = boot(cloud, FLAVOR)
    source = host_of(cloud.nova, server)
    cloud.nova.act(server, "migrate", {"host": None})
    cloud.nova.wait_for([server], "VERIFY_RESIZE")
    destination = host_of(cloud.nova, server)
    assert destination != source
    assert cloud.placement.allocations(server) == allocations_of(cloud, destination)
    assert cloud.placement.allocations(migration_of(cloud.nova, server)) == allocations_of(cloud, source)
    cloud.nova.act(server, action)
    cloud.nova.wait_for([server], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(server) == allocations_of(cloud, source if ends_on_source else destination)


def test_shelved_server_frees_the_child_provider(cloud: CheckedCloud) -> None:
    server = boot(cloud, FLAVOR)
    cloud.nova.act(server, "shelve")
    cloud.nova.wait_for([server], "SHELVED_OFFLOADED")
    assert cloud.placement.allocations(server) == {}
    cloud.nova.act(server, "unshelve")
    cloud.nova.wait_for([server], "ACTIVE")
    assert cloud.placement.allocations(server) == allocations_of(cloud, host_of(cloud.nova, server))
