# SPDX-License-Identifier: Apache-2.0
"""PCI devices: neither scheduler looks at them by default, so that computes refuse servers and conductors go on."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests.nova.actions import boot, host_of, provider_of, refused, wait_deleted
from tests.nova.conftest import SIZE, compared, require_equal, started_cloud
from tests.support.nova.checked_cloud import CheckedCloud

DEVICE = {"vendor_id": "8086", "product_id": "10ed"}
ALIAS = {**DEVICE, "device_type": "type-VF", "name": "function"}
OPTIONS = {
    "DEFAULT": {"compute_driver": "devices.DeviceDriver"},
    "pci": {"device_spec": json.dumps(DEVICE), "alias": json.dumps(ALIAS)},
}
AMOUNTS = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 4}
FLAVOR = "two-functions"  # of three that a host has


@pytest.fixture(scope="module")
def running_cloud() -> Iterator[CheckedCloud]:
    """A cloud of two computes with three virtual functions and two vCPUs each."""
    with started_cloud(replace(SIZE, computes=2, nova_options=OPTIONS)) as cloud:
        cloud.nova.create_flavor(FLAVOR, 1, 512, 4, **{"pci_passthrough:alias": "function:2"})
        yield cloud


@pytest.fixture
def cloud(running_cloud: CheckedCloud) -> Iterator[CheckedCloud]:
    """The cloud without servers."""
    with compared(running_cloud):
        yield running_cloud


def test_servers_go_to_the_hosts_that_have_their_devices(cloud: CheckedCloud) -> None:
    servers = [boot(cloud, FLAVOR) for _ in cloud.size.hosts]
    assert {host_of(cloud.nova, server) for server in servers} == {*cloud.size.hosts}
    for server in servers:
        assert cloud.placement.allocations(server) == {provider_of(cloud, host_of(cloud.nova, server)): AMOUNTS}
    assert "Exceeded maximum number of retries" in refused(cloud, FLAVOR)
    require_equal(cloud)


def test_deleted_server_frees_its_devices(cloud: CheckedCloud) -> None:
    host = cloud.size.hosts[0]
    for _ in range(2):
        server = boot(cloud, FLAVOR, host=host)
        cloud.nova.call("DELETE", f"/servers/{server}")
        wait_deleted(cloud.nova, [server])


def test_move_to_a_host_without_devices_leaves_the_server_where_it_was(cloud: CheckedCloud) -> None:
    server, _ = (boot(cloud, FLAVOR, host=host) for host in cloud.size.hosts)
    before = cloud.placement.allocations(server)
    cloud.nova.act(server, "migrate", {"host": None})
    # The conductor finds no alternate and makes it ACTIVE, and then the compute that refused it makes it ERROR.
    cloud.nova.wait_for([server], "ERROR")
    require_equal(cloud)
    assert host_of(cloud.nova, server) == cloud.size.hosts[0]
    assert cloud.placement.allocations(server) == before
