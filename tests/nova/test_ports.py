# SPDX-License-Identifier: Apache-2.0
"""Ports with a resource request: bandwidth of a provider in the tree of the server's host."""

from collections.abc import Iterator

import pytest

from devstack.nova.client import RestClient, wait_until
from devstack.nova.fakes.neutron import NETWORK
from tests.nova.actions import boot, create_child, host_of, provider_of, wait_deleted
from tests.support.nova.checked_cloud import CheckedCloud

EGRESS = "NET_BW_EGR_KILOBIT_PER_SEC"
TRAITS = ["CUSTOM_PHYSNET_PHYSNET0", "CUSTOM_VNIC_TYPE_NORMAL"]
INVENTORY = {"total": 10_000, "reserved": 0, "min_unit": 1, "max_unit": 10_000, "step_size": 1, "allocation_ratio": 1.0}


@pytest.fixture
def bridges(cloud: CheckedCloud) -> Iterator[dict[str, str]]:
    """The provider of a bridge with bandwidth below each host's, by host, as Neutron's agents make them."""
    placement = cloud.placement
    for name in TRAITS:
        placement.call("PUT", f"/traits/{name}")
    agents = {host: create_child(cloud, f"{host}:agent", provider_of(cloud, host), {}) for host in cloud.size.hosts}
    bridges = {
        host: create_child(cloud, f"{host}:agent:br-ex", agent, {EGRESS: INVENTORY}, TRAITS)
        for host, agent in agents.items()
    }
    yield bridges
    for server in cloud.nova.get("/servers")["servers"]:
        cloud.nova.call("DELETE", f"/servers/{server['id']}")
        wait_deleted(cloud.nova, [server["id"]])
    for provider in (*bridges.values(), *agents.values()):
        placement.call("DELETE", f"/resource_providers/{provider}")


@pytest.fixture
def port(cloud: CheckedCloud) -> str:
    """A port that requests bandwidth."""
    return _create_port(cloud)


def _neutron(cloud: CheckedCloud) -> RestClient:
    return RestClient(f"{cloud.parts.urls.fakes}/network/v2.0", {})


def _create_port(cloud: CheckedCloud, kilobits: int = 6_000) -> str:
    request = {"required": TRAITS, "resources": {EGRESS: kilobits}}
    record = {"network_id": NETWORK, "resource_request": request}
    identity: str = _neutron(cloud).call("POST", "/ports", {"port": record})["port"]["id"]
    return identity


def _attach(cloud: CheckedCloud, server: str, port: str) -> None:
    cloud.nova.call("POST", f"/servers/{server}/os-interface", {"interfaceAttachment": {"port_id": port}})


def test_attached_interface_holds_bandwidth_of_the_servers_host(
    cloud: CheckedCloud, bridges: dict[str, str], port: str
) -> None:
    server = boot(cloud)
    before = cloud.placement.allocations(server)
    bridge = bridges[host_of(cloud.nova, server)]
    _attach(cloud, server, port)
    assert cloud.placement.allocations(server) == {**before, bridge: {EGRESS: 6_000}}
    assert _neutron(cloud).get(f"/ports/{port}")["port"]["binding:profile"]["allocation"] == bridge
    cloud.nova.call("DELETE", f"/servers/{server}/os-interface/{port}")
    wait_until(lambda: cloud.placement.allocations(server) == before, "the bandwidth to be freed")


def test_interface_that_fits_not_is_refused(cloud: CheckedCloud, bridges: dict[str, str], port: str) -> None:
    server = boot(cloud)
    _attach(cloud, server, port)
    before = cloud.placement.allocations(server)
    with pytest.raises(Exception, match="answered 400"):
        _attach(cloud, server, _create_port(cloud))
    assert cloud.placement.allocations(server) == before


def test_server_with_a_port_boots_where_bandwidth_is_left(cloud: CheckedCloud, bridges: dict[str, str]) -> None:
    count = cloud.size.computes
    ports = [_create_port(cloud) for _ in range(count)]
    servers = [boot(cloud, networks=[{"port": port}]) for port in ports]
    hosts = {host_of(cloud.nova, server) for server in servers}
    assert len(hosts) == count
    for server in servers:
        assert cloud.placement.allocations(server)[bridges[host_of(cloud.nova, server)]] == {EGRESS: 6_000}
    refused = cloud.nova.boot("one-more", "small", networks=[{"port": _create_port(cloud)}])
    cloud.nova.wait_for([refused], "ERROR")
