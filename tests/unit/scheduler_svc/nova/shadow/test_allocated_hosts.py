# SPDX-License-Identifier: Apache-2.0
"""The hosts from which consumers hold allocations, also by providers below the root."""

import uuid

import pytest

from scheduler_svc.nova.shadow.allocated_hosts import AllocatedHosts
from tests.support.nova.nova_clouds import NovaCloud


@pytest.fixture(scope="module")
def cloud():
    cloud = NovaCloud().start()
    yield cloud
    cloud.stop()


@pytest.fixture(scope="module")
def allocated(cloud):
    return AllocatedHosts(cloud.store, lambda: cloud.service._worker.scheduling.partitions.own.replica.table)


def allocate(cloud, **resources_by_provider):
    consumer = str(uuid.uuid4())
    body = {
        "allocations": {name: {"resources": resources} for name, resources in resources_by_provider.items()},
        "project_id": "p",
        "user_id": "u",
        "consumer_generation": None,
        "consumer_type": "INSTANCE",
    }
    assert cloud.placement.call("PUT", f"/allocations/{consumer}", body).status == 204
    cloud.follow()
    return consumer


def test_host_is_that_of_the_tree(cloud, allocated):
    first, second = cloud.add_host("h1"), cloud.add_host("h2", service_host="h2", node="node2")
    body = {"name": f"child of {first}", "parent_provider_uuid": first}
    child = cloud.placement.call("POST", "/resource_providers", body).json["uuid"]
    cloud.placement.set_inventories(child, SRIOV_NET_VF=4)
    nested = allocate(cloud, **{child: {"SRIOV_NET_VF": 1}})
    double = allocate(cloud, **{first: {"VCPU": 1}, second: {"VCPU": 1}})
    assert allocated.read([nested, double, str(uuid.uuid4())]) == {
        nested: {f"@api/{first}"},
        double: {f"@api/{first}", f"@api/{second}"},
    }
    assert allocated.named_row(f"@api/{first}").name == "h1"
    assert allocated.named_row(f"@api/{second}").name == "h2/node2"
    assert allocated.on_service_hosts([f"@api/{first}", f"@api/{second}"], {"node2"}) == {f"@api/{second}"}


def test_provider_without_a_compute_node_is_no_host(cloud, allocated):
    pool = cloud.placement.create("pool")
    cloud.placement.set_inventories(pool, DISK_GB=100)
    consumer = allocate(cloud, **{pool: {"DISK_GB": 1}})
    assert allocated.read([consumer]) == {consumer: set()}
    assert allocated.named_row(f"@api/{pool}").row is None
