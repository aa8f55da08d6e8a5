# SPDX-License-Identifier: Apache-2.0
"""Servers for which the request names the host: forced through the zone, or requested by host and node."""

import pytest

from devstack.nova.client import CallFailed, wait_until
from tests.nova.actions import (
    LARGE,
    SMALL,
    boot,
    fill,
    host_of,
    kill_compute,
    migration_of,
    provider_of,
    refused,
    restart_compute,
    set_status,
    wait_deleted,
)
from tests.nova.conftest import require_equal
from tests.support.nova.checked_cloud import CheckedCloud

HOST, OTHER = "host3", "host2"
NO_HOST = "No valid host was found"
REQUESTS = [
    {"availability_zone": f"nova:{HOST}"},
    {"availability_zone": f"nova:{HOST}:{HOST}"},
    {"availability_zone": f"nova::{HOST}"},
    {"host": HOST},
    {"hypervisor_hostname": HOST},
    {"host": HOST, "hypervisor_hostname": HOST},
]


@pytest.mark.parametrize("request_", REQUESTS, ids=str)
def test_server_goes_to_the_named_host_or_nowhere(cloud: CheckedCloud, request_: dict[str, str]) -> None:
    for _ in range(2):
        assert host_of(cloud.nova, boot(cloud, **request_)) == HOST
    assert NO_HOST in refused(cloud, "whole", **request_)


@pytest.mark.parametrize("request_", [REQUESTS[0], REQUESTS[3]], ids=str)
def test_named_host_that_is_disabled_is_refused(cloud: CheckedCloud, request_: dict[str, str]) -> None:
    set_status(cloud, HOST, "disabled")
    try:
        assert NO_HOST in refused(cloud, **request_)
    finally:
        set_status(cloud, HOST, "enabled")
    assert host_of(cloud.nova, boot(cloud, **request_)) == HOST


@pytest.mark.parametrize("request_", [{"host": "nowhere"}, {"hypervisor_hostname": "nowhere"}], ids=str)
def test_unknown_host_is_an_invalid_request(cloud: CheckedCloud, request_: dict[str, str]) -> None:
    with pytest.raises(CallFailed) as failure:
        cloud.nova.boot("server", "small", **request_)
    assert failure.value.status == 400


def test_unknown_forced_host_is_refused(cloud: CheckedCloud) -> None:
    assert NO_HOST in refused(cloud, availability_zone="nova:nowhere")


def test_several_servers_go_to_the_named_host_together_or_none(cloud: CheckedCloud) -> None:
    cloud.nova.boot("many", "quarter", host=HOST, min_count=4, max_count=4)
    servers = cloud.nova.wait_for([server["id"] for server in cloud.nova.get("/servers")["servers"]], "ACTIVE")
    assert [server["OS-EXT-SRV-ATTR:host"] for server in servers] == [HOST] * 4
    assert NO_HOST in refused(cloud, "quarter", host=HOST)


def test_cold_migration_goes_to_the_named_host(cloud: CheckedCloud) -> None:
    uuid = boot(cloud, availability_zone=f"nova:{HOST}")
    cloud.nova.act(uuid, "migrate", {"host": OTHER})
    cloud.nova.wait_for([uuid], "VERIFY_RESIZE")
    assert host_of(cloud.nova, uuid) == OTHER
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, OTHER): SMALL}
    assert cloud.placement.allocations(migration_of(cloud.nova, uuid)) == {provider_of(cloud, HOST): SMALL}
    cloud.nova.act(uuid, "revertResize")
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert host_of(cloud.nova, uuid) == HOST


@pytest.mark.parametrize(("action", "host"), [("migrate", OTHER), ("os-migrateLive", OTHER), ("os-migrateLive", HOST)])
def test_move_to_a_full_host_or_its_own_leaves_the_server_as_it_was(
    cloud: CheckedCloud, action: str, host: str
) -> None:
    uuid = boot(cloud, host=HOST)
    before = cloud.placement.allocations(uuid)
    fill(cloud, OTHER)
    arguments = {"block_migration": "auto"} if action == "os-migrateLive" else {}
    cloud.nova.act(uuid, action, {"host": host, **arguments})
    wait_until(lambda: _ended_in_error(cloud, uuid), "the end of the migration")
    cloud.nova.wait_for([uuid], "ACTIVE")
    require_equal(cloud)
    assert (host_of(cloud.nova, uuid), cloud.placement.allocations(uuid)) == (HOST, before)


def test_cold_migration_to_its_own_host_is_an_invalid_request(cloud: CheckedCloud) -> None:
    uuid = boot(cloud, host=HOST)
    with pytest.raises(CallFailed) as failure:
        cloud.nova.act(uuid, "migrate", {"host": HOST})
    assert failure.value.status == 400


def test_live_migration_goes_to_the_named_host(cloud: CheckedCloud) -> None:
    uuid = boot(cloud, host=HOST)
    cloud.nova.act(uuid, "os-migrateLive", {"host": OTHER, "block_migration": "auto"})
    wait_until(lambda: host_of(cloud.nova, uuid) == OTHER, "the live migration")
    cloud.nova.wait_for([uuid], "ACTIVE")
    require_equal(cloud)
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, OTHER): SMALL}


def test_host_that_a_server_was_forced_to_holds_no_resize_back(cloud: CheckedCloud) -> None:
    uuid = boot(cloud, availability_zone=f"nova:{HOST}")
    cloud.nova.act(uuid, "resize", {"flavorRef": "large"})
    cloud.nova.wait_for([uuid], "VERIFY_RESIZE")
    destination = host_of(cloud.nova, uuid)
    assert destination != HOST
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, destination): LARGE}


def test_evacuation_goes_to_the_named_host(cloud: CheckedCloud) -> None:
    uuid = boot(cloud, host=HOST)
    kill_compute(cloud, HOST)
    try:
        cloud.nova.act(uuid, "evacuate", {"host": OTHER})
        wait_until(lambda: host_of(cloud.nova, uuid) == OTHER, "the evacuation")
        cloud.nova.wait_for([uuid], "SHUTOFF")
        assert cloud.placement.allocations(uuid) == {provider_of(cloud, host): SMALL for host in (HOST, OTHER)}
    finally:
        restart_compute(cloud, HOST)
    wait_until(lambda: cloud.placement.allocations(uuid) == {provider_of(cloud, OTHER): SMALL}, "the source's end")


def test_evacuation_to_a_full_host_leaves_the_server_where_it_was(cloud: CheckedCloud) -> None:
    uuid = boot(cloud, host=HOST)
    fill(cloud, OTHER)
    kill_compute(cloud, HOST)
    try:
        cloud.nova.act(uuid, "evacuate", {"host": OTHER})
        cloud.nova.wait_for([uuid], "ERROR")
        assert host_of(cloud.nova, uuid) == HOST
        assert cloud.placement.allocations(uuid) == {provider_of(cloud, HOST): SMALL}
    finally:
        restart_compute(cloud, HOST)


def test_unshelved_server_goes_to_the_named_host_or_stays_shelved(cloud: CheckedCloud) -> None:
    uuid = boot(cloud)
    cloud.nova.act(uuid, "shelve")
    cloud.nova.wait_for([uuid], "SHELVED_OFFLOADED")
    (full,) = fill(cloud, HOST)
    cloud.nova.act(uuid, "unshelve", {"host": HOST})
    cloud.nova.wait_for([uuid], "SHELVED_OFFLOADED")
    assert cloud.placement.allocations(uuid) == {}
    cloud.nova.call("DELETE", f"/servers/{full}")
    wait_deleted(cloud.nova, [full])
    cloud.nova.act(uuid, "unshelve", {"host": HOST})
    cloud.nova.wait_for([uuid], "ACTIVE")
    assert host_of(cloud.nova, uuid) == HOST
    assert cloud.placement.allocations(uuid) == {provider_of(cloud, HOST): SMALL}


def _ended_in_error(cloud: CheckedCloud, server: str) -> bool:
    migrations = cloud.nova.get(f"/os-migrations?instance_uuid={server}")["migrations"]
    return [migration["status"] for migration in migrations] == ["error"]
