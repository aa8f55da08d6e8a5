# SPDX-License-Identifier: Apache-2.0
"""Servers that are booted, rebuilt, shelved and deleted."""

import pytest

from devstack.nova.fakes.glance import IMAGES
from tests.nova.actions import SMALL, boot, host_of, provider_of, wait_deleted
from tests.support.nova.checked_cloud import CheckedCloud


def test_server_holds_its_flavor_on_its_host(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, host_of(cloud.nova, uuid)): SMALL}


def test_deleted_server_holds_nothing(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    cloud.nova.call("DELETE", f"/servers/{uuid}")
    wait_deleted(cloud.nova, [uuid])
    assert cloud.placement.allocations(uuid) == {}


def test_parallel_boots_fill_the_cloud_exactly(cloud: CheckedCloud) -> None:
    count = 4 * cloud.size.computes
    uuids = [cloud.nova.boot(f"server{number}", "quarter") for number in range(count)]
    cloud.nova.wait_for(uuids, "ACTIVE")
    (refused,) = cloud.nova.wait_for([cloud.nova.boot("one-more", "small")], "ERROR")
    assert "No valid host" in refused["fault"]["message"]
    for provider in cloud.placement.providers():
        assert cloud.placement.get(f"/resource_providers/{provider['uuid']}/usages")["usages"]["VCPU"] == 16


def test_deletion_frees_a_full_host(cloud: CheckedCloud) -> None:
    uuids = [boot(cloud, "whole") for _ in range(cloud.size.computes)]
    cloud.nova.call("DELETE", f"/servers/{uuids[0]}")
    wait_deleted(cloud.nova, uuids[:1])
    boot(cloud, "whole")


def test_all_servers_of_a_request_are_placed_or_none(cloud: CheckedCloud) -> None:
    server = {"name": "many", "flavorRef": "whole", "imageRef": IMAGES["cirros"], "networks": "none"}
    server |= {"min_count": cloud.size.computes + 1}
    cloud.nova.call("POST", "/servers", {"server": server})
    uuids = [record["id"] for record in cloud.nova.get("/servers")["servers"]]
    cloud.nova.wait_for(uuids, "ERROR")
    assert len(uuids) == cloud.size.computes + 1
    assert not any(cloud.placement.allocations(uuid) for uuid in uuids)


def test_shelved_server_holds_nothing_until_it_is_unshelved(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    cloud.nova.act(uuid, "shelve")
    cloud.nova.wait_for([uuid], "SHELVED_OFFLOADED")
    assert cloud.placement.allocations(uuid) == {}
    cloud.nova.act(uuid, "unshelve")
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, host_of(cloud.nova, uuid)): SMALL}


def test_server_that_fits_nowhere_stays_shelved(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    cloud.nova.act(uuid, "shelve")
    cloud.nova.wait_for([uuid], "SHELVED_OFFLOADED")
    for _ in range(cloud.size.computes):
        boot(cloud, "whole")
    cloud.nova.act(uuid, "unshelve")
    cloud.nova.wait_for([uuid], "SHELVED_OFFLOADED")
    assert cloud.placement.allocations(uuid) == {}


@pytest.mark.parametrize("image", IMAGES)
def test_rebuild_keeps_what_the_server_holds(cloud: CheckedCloud, image: str) -> None:
    uuid = boot(cloud)
    before = cloud.placement.allocations(uuid)
    cloud.nova.act(uuid, "rebuild", {"imageRef": IMAGES[image]})
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert cloud.placement.allocations(uuid) == before
