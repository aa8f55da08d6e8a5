# SPDX-License-Identifier: Apache-2.0
"""Inventories and allocations that are replaced together."""

import uuid

import pytest

from scheduler_svc.core.provider_uuids import uuid_of
from tests.support.scheduler import hosts

CONSUMER = str(uuid.uuid4())


@pytest.fixture
def root(api):
    created = api.create("root")
    api.set_inventories(created, VCPU=8, DISK_GB=100)
    return created


@pytest.fixture
def child(api, root):
    """A provider without inventories below the root, from which a consumer holds."""
    body = {"allocations": {root: {"resources": {"VCPU": 8}}}, **owner(None)}
    assert api.call("PUT", f"/allocations/{CONSUMER}", body).status == 204
    return api.create("child", root)


def owner(generation):
    return {"project_id": "p", "user_id": "u", "consumer_type": "INSTANCE", "consumer_generation": generation}


def have(generation, **totals):
    inventories = {name: {"total": total} for name, total in totals.items()}
    return {"resource_provider_generation": generation, "inventories": inventories}


def hold(provider, generation=1, **amounts):
    return {CONSUMER: {"allocations": {provider: {"resources": amounts}}, **owner(generation)}}


def reshape(api, inventories, allocations=None, **options):
    """Send a request as a service, who alone may reshape."""
    body = {"inventories": inventories, "allocations": allocations or {}}
    return api.call("POST", "/reshaper", body, HTTP_X_ROLES="service", **options)


def test_inventory_moves_to_a_child_with_its_allocations(api, root, child):
    moved = {root: have(2, DISK_GB=100), child: have(0, VCPU=8)}
    assert reshape(api, moved, hold(child, VCPU=8)).status == 204
    assert api.call("GET", f"/resource_providers/{root}/usages").json == {
        "resource_provider_generation": 4,
        "usages": {"DISK_GB": 0},
    }
    assert api.call("GET", f"/resource_providers/{child}/usages").json == {
        "resource_provider_generation": 3,
        "usages": {"VCPU": 8},
    }


def test_outdated_generation_is_refused(api, root, child):
    answer = reshape(api, {child: have(0, VCPU=8), root: have(1, DISK_GB=100)}, hold(child, VCPU=8))
    assert (answer.status, answer.error["code"]) == (409, "placement.concurrent_update")
    assert f"generation conflict for provider {root}: actual: 2, given: 1" in answer.error["detail"]
    answer = reshape(api, {child: have(0, VCPU=8), root: have(2, DISK_GB=100)}, hold(child, 4, VCPU=8))
    assert "consumer generation conflict" in answer.error["detail"]


WRONG = {"VCPU": {"total": 1, "reserved": 2}}
UNKNOWN_CLASS = {"CUSTOM_NONE": {"total": 1}}


@pytest.mark.parametrize("inventories", [WRONG, UNKNOWN_CLASS])
def test_generations_are_compared_before_inventories_are_checked(api, root, child, inventories):
    """As in Placement: of what is outdated the rest need not be right."""
    answer = reshape(api, {root: {"resource_provider_generation": 1, "inventories": inventories}})
    assert (answer.status, answer.error["code"]) == (409, "placement.concurrent_update")
    bad = {child: {"resource_provider_generation": 0, "inventories": inventories}}
    answer = reshape(api, bad, hold(root, 7, VCPU=8))
    assert (answer.status, answer.error["code"]) == (409, "placement.concurrent_update")
    assert "consumer generation conflict - expected 1 but got 7" in answer.error["detail"]
    assert reshape(api, bad, hold(root, 1, VCPU=8)).status == 400


def test_consumer_generations_are_compared_before_allocations_are_checked(api, root, child):
    bad = hold(root, 7, CUSTOM_NONE=8)
    answer = reshape(api, {child: have(0, VCPU=8)}, bad)
    assert (answer.status, answer.error["code"]) == (409, "placement.concurrent_update")
    assert reshape(api, {child: have(0, VCPU=8)}, hold(root, 1, CUSTOM_NONE=8)).status == 400


def test_inventory_in_use_is_not_removed(api, root, child):
    answer = reshape(api, {root: have(2)})
    assert (answer.status, answer.error["code"]) == (409, "placement.inventory.inuse")
    assert f"Inventory for 'VCPU' on resource provider '{root}' in use" in answer.error["detail"]


def test_unknown_provider_and_class_are_refused(api, root, child):
    unknown = str(uuid.uuid4())
    answer = reshape(api, {unknown: have(0, VCPU=8)})
    assert (answer.status, answer.error["code"]) == (400, "placement.resource_provider.not_found")
    answer = reshape(api, {root: have(2, CUSTOM_NONE=1)})
    assert answer.status == 400
    assert "No such resource class CUSTOM_NONE" in answer.error["detail"]
    answer = reshape(api, {root: have(2, VCPU=8, DISK_GB=100)}, hold(unknown, VCPU=1))
    assert answer.status == 400
    assert "does not exist" in answer.error["detail"]


def test_amount_that_does_not_fit_is_refused(api, root, child):
    answer = reshape(api, {root: have(2, DISK_GB=100), child: have(0, VCPU=4)}, hold(child, VCPU=8))
    assert answer.status == 409
    assert "Unable to allocate inventory" in answer.error["detail"]


def test_inventories_of_an_agents_provider_are_its_agents(api):
    hosts.join(api.store, {"h1": hosts.node()})
    node = uuid_of("h1")
    answer = reshape(api, {node: have(0, VCPU=8)})
    assert answer.status == 409
    assert "compute agent" in answer.error["detail"]


def test_more_than_a_thousand_providers_are_refused(api):
    answer = reshape(api, {str(uuid.uuid4()): have(0) for _ in range(1001)})
    assert answer.status == 400
    assert "at most 1000 providers" in answer.error["detail"]
    answer = reshape(api, {str(uuid.uuid4()): have(0) for _ in range(1000)})
    assert answer.error["code"] == "placement.resource_provider.not_found"


def test_route_exists_from_1_30_and_for_post_only(api, root):
    assert reshape(api, {root: have(1)}, version="1.29").status == 404
    answer = api.call("GET", "/reshaper")
    assert (answer.status, answer.headers["allow"]) == (405, "POST")
    assert reshape(api, {}, version="1.30").status == 400


def test_only_services_may_reshape(api, root):
    assert api.call("POST", "/reshaper", {}).status == 403
