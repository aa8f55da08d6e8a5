# SPDX-License-Identifier: Apache-2.0
"""Servers that move to another host: the source is held by the migration until the move ends."""

from collections.abc import Iterator

import pytest

from devstack.nova import roles
from devstack.nova.client import wait_until
from tests.nova.actions import (
    LARGE,
    SMALL,
    boot,
    host_of,
    kill_compute,
    migration_of,
    provider_of,
    restart_compute,
    wait_deleted,
)
from tests.nova.conftest import require_equal
from tests.support.nova.checked_cloud import CheckedCloud


@pytest.fixture
def resized(cloud: CheckedCloud) -> tuple[str, str]:
    """A server after a resize that is not confirmed, and its former host."""
    uuid = boot(cloud)
    source = host_of(cloud.nova, uuid)
    cloud.nova.act(uuid, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([uuid], "VERIFY_RESIZE")
    return uuid, source


def test_unconfirmed_resize_holds_both_hosts(cloud: CheckedCloud, resized: tuple[str, str]) -> None:
    uuid, source = resized
    destination = host_of(cloud.nova, uuid)
    assert destination != source
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, destination): LARGE}
    assert cloud.placement.allocations(migration_of(cloud.nova, uuid)) == {provider_of(cloud, source): SMALL}


def test_confirmed_resize_frees_the_source(cloud: CheckedCloud, resized: tuple[str, str]) -> None:
    uuid, _ = resized
    cloud.nova.act(uuid, "confirmResize")
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, host_of(cloud.nova, uuid)): LARGE}
    assert cloud.placement.allocations(migration_of(cloud.nova, uuid)) == {}


def test_reverted_resize_frees_the_destination(cloud: CheckedCloud, resized: tuple[str, str]) -> None:
    uuid, source = resized
    cloud.nova.act(uuid, "revertResize")
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, source): SMALL}
    assert cloud.placement.allocations(migration_of(cloud.nova, uuid)) == {}


def test_deletion_of_a_resized_server_frees_both_hosts(cloud: CheckedCloud, resized: tuple[str, str]) -> None:
    uuid, _ = resized
    migration = migration_of(cloud.nova, uuid)
    cloud.nova.call("DELETE", f"/servers/{uuid}")
    wait_deleted(cloud.nova, [uuid])
    assert cloud.placement.allocations(uuid) == cloud.placement.allocations(migration) == {}


def test_resize_that_fits_nowhere_leaves_the_server_as_it_was(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    before = cloud.placement.allocations(uuid)
    for _ in range(cloud.size.computes - 1):
        boot(cloud, "whole")
    cloud.nova.act(uuid, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([uuid], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(uuid) == before


def test_cold_migration_moves_what_the_server_holds(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    source = host_of(cloud.nova, uuid)
    cloud.nova.act(uuid, "migrate", {"host": None})
    cloud.nova.wait_for([uuid], "VERIFY_RESIZE")
    cloud.nova.act(uuid, "confirmResize")
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert host_of(cloud.nova, uuid) != source
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, host_of(cloud.nova, uuid)): SMALL}


def test_live_migration_moves_what_the_server_holds(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    source = host_of(cloud.nova, uuid)
    cloud.nova.act(uuid, "os-migrateLive", {"host": None, "block_migration": "auto"})
    wait_until(lambda: host_of(cloud.nova, uuid) != source, "the live migration")
    cloud.nova.wait_for([uuid], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, host_of(cloud.nova, uuid)): SMALL}


def test_live_migration_that_fits_nowhere_leaves_the_server_as_it_was(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    before = cloud.placement.allocations(uuid)
    for _ in range(cloud.size.computes - 1):
        boot(cloud, "whole")
    cloud.nova.act(uuid, "os-migrateLive", {"host": None, "block_migration": "auto"})
    cloud.nova.wait_for([uuid], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(uuid) == before


@pytest.fixture
def failed_host(cloud: CheckedCloud) -> Iterator[str]:
    """A host with a server, whose compute has been killed and is declared down; it is started again at the end."""
    host = host_of(cloud.nova, boot(cloud))
    kill_compute(cloud, host)
    yield host
    restart_compute(cloud, host)


def test_evacuated_server_holds_both_hosts_until_the_source_returns(cloud: CheckedCloud, failed_host: str) -> None:
    (server,) = cloud.nova.get("/servers")["servers"]
    uuid, source = server["id"], provider_of(cloud, failed_host)
    cloud.nova.act(uuid, "evacuate", {})
    wait_until(lambda: host_of(cloud.nova, uuid) != failed_host, "the evacuation")
    cloud.nova.wait_for([uuid], "SHUTOFF")  # what runs elsewhere is the user's to start
    destination = provider_of(cloud, host_of(cloud.nova, uuid))
    assert cloud.placement.allocations(uuid) == {source: SMALL, destination: SMALL}
    require_equal(cloud)
    cloud.spawn(roles.compute(cloud.parts, failed_host))
    wait_until(lambda: source not in cloud.placement.allocations(uuid), "the source to be freed")
    assert cloud.placement.allocations(uuid) == {destination: SMALL}
