# SPDX-License-Identifier: Apache-2.0
"""Providers that computes make, reshape, and lose with their service."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.nova.client import CallFailed, wait_until
from tests.nova.actions import (
    SMALL,
    boot,
    create_child,
    host_of,
    kill_compute,
    provider_of,
    restart_compute,
    wait_deleted,
)
from tests.nova.conftest import require_equal
from tests.support.nova.checked_cloud import CheckedCloud

HOST = "host1"
# Nova finds devices by the names of providers.
CHILD = f"{HOST}_0000:81:00.0 slot/é (1)"
INVENTORY = {"total": 4, "reserved": 0, "min_unit": 1, "max_unit": 4, "step_size": 1, "allocation_ratio": 1.0}


def _tree(cloud: CheckedCloud, host: str = HOST) -> dict[str, dict[str, Any]]:
    """Return the inventories of a host's tree by the name of the provider."""
    root = provider_of(cloud, host)
    providers = cloud.placement.get(f"/resource_providers?in_tree={root}")["resource_providers"]
    return {
        provider["name"]: cloud.placement.get(f"/resource_providers/{provider['uuid']}/inventories")["inventories"]
        for provider in providers
    }


@pytest.fixture
def slots(cloud: CheckedCloud) -> Iterator[str]:
    """A flavor with a slot, of which the node HOST has four; at the end it has none."""
    _restart(cloud, SIMULATED_SLOTS="4")
    wait_until(lambda: "CUSTOM_SLOT" in _tree(cloud)[HOST], "the slots of the node")
    flavor = cloud.nova.create_flavor(f"slot-{uuid.uuid4()}", 1, 512, 4, **{"resources:CUSTOM_SLOT": "1"})
    yield flavor
    for server in cloud.nova.get("/servers")["servers"]:
        cloud.nova.call("DELETE", f"/servers/{server['id']}")
        wait_deleted(cloud.nova, [server["id"]])
    _restart(cloud)
    wait_until(lambda: "CUSTOM_SLOT" not in str(_tree(cloud)), "the end of the slots")


def test_reshape_moves_what_servers_hold_to_a_child_of_the_exact_name(cloud: CheckedCloud, slots: str) -> None:
    server = boot(cloud, slots)
    root = provider_of(cloud, HOST)
    assert cloud.placement.allocations(server) == {root: {**SMALL, "CUSTOM_SLOT": 1}}
    _restart(cloud, SIMULATED_SLOTS="4", SIMULATED_SLOTS_PROVIDER=CHILD)
    wait_until(lambda: CHILD in _tree(cloud), "the child")
    assert {name: "CUSTOM_SLOT" in inventories for name, inventories in _tree(cloud).items()} == {
        HOST: False,
        CHILD: True,
    }
    (child,) = [provider["uuid"] for provider in cloud.placement.providers() if provider["name"] == CHILD]
    assert cloud.placement.allocations(server) == {root: SMALL, child: {"CUSTOM_SLOT": 1}}
    require_equal(cloud)
    other = boot(cloud, slots)
    assert cloud.placement.allocations(other) == {root: SMALL, child: {"CUSTOM_SLOT": 1}}


def test_servers_of_a_nested_resource_fill_it_exactly(cloud: CheckedCloud, slots: str) -> None:
    _restart(cloud, SIMULATED_SLOTS="4", SIMULATED_SLOTS_PROVIDER=CHILD)
    wait_until(lambda: CHILD in _tree(cloud), "the child")
    servers = [cloud.nova.boot(f"server{number}", slots) for number in range(5)]
    states = [server["status"] for server in cloud.nova.wait_for(servers, "ACTIVE", "ERROR")]
    assert sorted(states) == ["ACTIVE"] * 4 + ["ERROR"]


def test_deleted_service_takes_its_providers_and_allocations_along(cloud: CheckedCloud) -> None:
    host = "decommissioned"
    cloud.add_compute(host)
    root = provider_of(cloud, host)
    server = boot(cloud, availability_zone=f"nova:{host}")
    child = create_child(cloud, f"{host}-child", root, {"SRIOV_NET_VF": INVENTORY})
    (service,) = cloud.nova.get(f"/os-services?binary=nova-compute&host={host}")["services"]
    with pytest.raises(CallFailed, match="Unable to delete compute service that is hosting instances"):
        cloud.nova.call("DELETE", f"/os-services/{service['id']}")

    kill_compute(cloud, host)
    cloud.nova.act(server, "evacuate", {})
    wait_until(lambda: host_of(cloud.nova, server) != host, "the evacuation")
    cloud.nova.wait_for([server], "SHUTOFF")
    assert root in cloud.placement.allocations(server)
    cloud.nova.call("DELETE", f"/os-services/{service['id']}")
    assert not {root, child} & {provider["uuid"] for provider in cloud.placement.providers()}
    assert cloud.placement.allocations(server) == {provider_of(cloud, host_of(cloud.nova, server)): SMALL}
    Path(cloud.parts.state / host / "compute_id").unlink()


def test_disabled_service_is_marked_by_a_trait(cloud: CheckedCloud) -> None:
    (service,) = cloud.nova.get(f"/os-services?binary=nova-compute&host={HOST}")["services"]
    for status in ("disabled", "enabled"):
        cloud.nova.call("PUT", f"/os-services/{service['id']}", {"status": status})
        wait_until(lambda status=status: _is_disabled(cloud) == (status == "disabled"), f"{HOST} to be {status}")


def _is_disabled(cloud: CheckedCloud) -> bool:
    traits = cloud.placement.get(f"/resource_providers/{provider_of(cloud, HOST)}/traits")["traits"]
    return "COMPUTE_STATUS_DISABLED" in traits


def _restart(cloud: CheckedCloud, **env: str) -> None:
    kill_compute(cloud, HOST)
    restart_compute(cloud, HOST, **env)
