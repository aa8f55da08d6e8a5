# SPDX-License-Identifier: Apache-2.0
"""Availability zones: aggregates of hosts that a request names."""

from collections.abc import Iterator

import pytest

from devstack.nova.client import CallFailed, wait_until
from tests.nova.actions import SMALL, boot, fill, host_of, provider_of, refused
from tests.nova.aggregates import host_aggregate
from tests.nova.conftest import delete_servers, require_equal
from tests.support.nova.checked_cloud import CheckedCloud

ZONE = "zone-of-a-test"
MEMBERS = {"host3", "host4"}
OTHERS = {"host1", "host2"}
DEFAULT_ZONE = "nova"
NO_HOST = "No valid host was found"


@pytest.fixture
def zone(cloud: CheckedCloud) -> Iterator[str]:
    """The name of a zone of two hosts; the other two are in the default zone."""
    with host_aggregate(cloud, sorted(MEMBERS), availability_zone=ZONE):
        yield ZONE
        delete_servers(cloud.nova)


def shelve(cloud: CheckedCloud, server: str) -> None:
    """Shelve a server, so that it has no host."""
    cloud.nova.act(server, "shelve")
    cloud.nova.wait_for([server], "SHELVED_OFFLOADED")


def test_zone_is_filled_exactly(cloud: CheckedCloud, zone: str) -> None:
    uuids = [boot(cloud, "whole", availability_zone=zone) for _ in MEMBERS]
    assert {host_of(cloud.nova, uuid) for uuid in uuids} == MEMBERS
    assert {cloud.nova.server(uuid)["OS-EXT-AZ:availability_zone"] for uuid in uuids} == {zone}
    assert NO_HOST in refused(cloud, availability_zone=zone)


def test_default_zone_excludes_no_host(cloud: CheckedCloud, zone: str) -> None:
    """No aggregate has its name, so that Nova asks Placement for none."""
    uuids = [boot(cloud, "whole", availability_zone=DEFAULT_ZONE) for _ in cloud.size.hosts]
    assert {host_of(cloud.nova, uuid) for uuid in uuids} == OTHERS | MEMBERS


def test_server_without_a_zone_goes_to_any(cloud: CheckedCloud, zone: str) -> None:
    uuids = [boot(cloud, "whole") for _ in range(cloud.size.computes)]
    zones = {cloud.nova.server(uuid)["OS-EXT-AZ:availability_zone"] for uuid in uuids}
    assert zones == {zone, DEFAULT_ZONE}


def test_unknown_zone_is_an_invalid_request(cloud: CheckedCloud, zone: str) -> None:
    with pytest.raises(CallFailed) as failure:
        cloud.nova.boot("server", "small", availability_zone="nowhere")
    assert failure.value.status == 400


def test_requested_host_of_another_zone_is_refused(cloud: CheckedCloud, zone: str) -> None:
    assert NO_HOST in refused(cloud, availability_zone=zone, host="host1")
    assert host_of(cloud.nova, boot(cloud, availability_zone=zone, host="host3")) == "host3"


@pytest.mark.parametrize("action", ["migrate", "os-migrateLive"])
def test_move_stays_in_the_requested_zone(cloud: CheckedCloud, zone: str, action: str) -> None:
    uuid = boot(cloud, availability_zone=zone)
    source = host_of(cloud.nova, uuid)
    (destination,) = MEMBERS - {source}
    if action == "migrate":
        cloud.nova.act(uuid, action, {"host": None})
        cloud.nova.wait_for([uuid], "VERIFY_RESIZE")
        cloud.nova.act(uuid, "confirmResize")
    else:
        cloud.nova.act(uuid, action, {"host": None, "block_migration": "auto"})
    wait_until(lambda: host_of(cloud.nova, uuid) == destination, "the move")
    cloud.nova.wait_for([uuid], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, destination): SMALL}


def test_move_within_a_full_zone_leaves_the_server_as_it_was(cloud: CheckedCloud, zone: str) -> None:
    uuid = boot(cloud, availability_zone=zone)
    source = host_of(cloud.nova, uuid)
    fill(cloud, *(MEMBERS - {source}))
    cloud.nova.act(uuid, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([uuid], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, source): SMALL}


def test_shelved_server_is_unshelved_to_a_zone(cloud: CheckedCloud, zone: str) -> None:
    uuid = boot(cloud)
    shelve(cloud, uuid)
    cloud.nova.act(uuid, "unshelve", {"availability_zone": zone})
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert host_of(cloud.nova, uuid) in MEMBERS
    # The zone is the server's own from now on.
    shelve(cloud, uuid)
    fill(cloud, *MEMBERS)
    cloud.nova.act(uuid, "unshelve")
    cloud.nova.wait_for([uuid], "SHELVED_OFFLOADED")
    assert cloud.placement.allocations(uuid) == {}
    cloud.nova.act(uuid, "unshelve", {"availability_zone": None})
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert host_of(cloud.nova, uuid) in OTHERS
    delete_servers(cloud.nova)


def test_server_is_unshelved_to_no_host_outside_the_requested_zone(cloud: CheckedCloud, zone: str) -> None:
    uuid = boot(cloud)
    shelve(cloud, uuid)
    with pytest.raises(CallFailed) as failure:
        cloud.nova.act(uuid, "unshelve", {"availability_zone": zone, "host": "host1"})
    assert failure.value.status == 409
    cloud.nova.act(uuid, "unshelve", {"availability_zone": zone, "host": "host4"})
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, "host4"): SMALL}
