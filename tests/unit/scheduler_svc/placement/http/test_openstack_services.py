# SPDX-License-Identifier: Apache-2.0
"""The calls of Cyborg and Blazar, in their order and microversions, and what they do with the answers.

Nova's, Neutron's and Watcher's are tested with their own clients.
"""

import uuid

import pytest

from tests.support.scheduler.placement import PlacementApi

FPGA = "CUSTOM_ACCELERATOR_FPGA"
BLAZAR = "1.29"


@pytest.fixture
def api():
    return PlacementApi()


@pytest.fixture
def host(api):
    """The UUID of a compute node, which Nova created."""
    return api.create("compute1")


def unit(total, **fields):
    return {"total": total, "max_unit": total, "min_unit": 1, "step_size": 1, "reserved": 0, **fields}


def set_traits(api, provider, change):
    """Replace traits as Cyborg does: those that it read, with the generation of another read."""
    traits = api.call("GET", f"/resource_providers/{provider}/traits", version="1.6").json["traits"]
    generation = api.call("GET", f"/resource_providers/{provider}", version=None).json["generation"]
    body = {"resource_provider_generation": generation, "traits": change(traits)}
    answer = api.call("PUT", f"/resource_providers/{provider}/traits", body, version="1.6")
    assert answer.status == 200
    return answer.json["traits"]


def test_cyborg_reports_a_device_below_a_host(api, host):
    device, trait = str(uuid.uuid4()), "CUSTOM_FPGA_INTEL"
    (node,) = api.call("GET", "/resource_providers?name=compute1", version="1.14").json["resource_providers"]
    assert node["uuid"] == host
    assert api.call("GET", f"/resource_providers/{device}", version="1.6").status == 404
    body = {"uuid": device, "name": f"compute1_{device}", "parent_provider_uuid": host}
    created = api.call("POST", "/resource_providers", body, version="1.20")
    assert created.status == 200 and created.json["root_provider_uuid"] == host
    assert created.headers["x-openstack-request-id"].startswith("req-")
    # A class without a body, twice
    answers = [api.call("PUT", f"/resource_classes/{FPGA}", version="1.7") for _ in range(2)]
    assert [answer.status for answer in answers] == [201, 204]
    # Inventories without a microversion, with the generation that was read
    generation = api.call("GET", f"/resource_providers/{device}", version=None).json["generation"]
    inventories = {"resource_provider_generation": generation, "inventories": {FPGA: unit(2, allocation_ratio=1.0)}}
    answer = api.call("PUT", f"/resource_providers/{device}/inventories", inventories, version=None)
    assert answer.status == 200 and answer.json["inventories"][FPGA]["total"] == 2
    # A trait that is made when it is missing
    assert api.call("GET", f"/traits/{trait}", version="1.6").status == 404
    assert api.call("PUT", f"/traits/{trait}", version="1.6").status == 201
    assert api.call("GET", f"/traits/{trait}", version="1.6").status == 204
    assert set_traits(api, device, lambda traits: [*traits, trait]) == [trait]
    tree = api.call("GET", f"/resource_providers?in_tree={device}", version="1.14").json["resource_providers"]
    assert {provider["uuid"] for provider in tree} == {host, device}
    candidates = api.call("GET", f"/allocation_candidates?resources={FPGA}:1&required={trait}").json
    assert list(candidates["provider_summaries"]) and len(candidates["allocation_requests"]) == 1


def test_cyborg_withdraws_a_device(api, host):
    device, trait = api.create("device", host), "CUSTOM_FPGA_FUNCTION_ID_INTEL"
    api.call("PUT", f"/traits/{trait}", version="1.6")
    set_traits(api, device, lambda _traits: [trait])
    assert api.call("DELETE", f"/traits/{trait}", version="1.6").status == 409
    assert set_traits(api, device, lambda traits: [name for name in traits if name != trait]) == []
    assert api.call("DELETE", f"/traits/{trait}", version="1.6").status == 204
    assert api.call("DELETE", f"/resource_providers/{device}", version=None).status == 204
    assert api.call("DELETE", f"/resource_providers/{device}", version=None).status == 404
    # Cyborg names no microversion here: classes are served from 1.2 on, also by Placement
    api.call("PUT", f"/resource_classes/{FPGA}", version="1.7")
    assert api.call("DELETE", f"/resource_classes/{FPGA}", version=None).status == 404


def add_reservations(api, provider, resource_class, number, generation=None):
    """Add a class to what a provider has, as Blazar does; a generation is used instead of the one that is read."""
    read = api.call("GET", f"/resource_providers/{provider}/inventories", version=BLAZAR).json
    inventories = read["inventories"] | {resource_class: unit(number, max_unit=1, allocation_ratio=1.0)}
    generation = read["resource_provider_generation"] if generation is None else generation
    body = {"resource_provider_generation": generation, "inventories": inventories}
    return api.call("PUT", f"/resource_providers/{provider}/inventories", body, version=BLAZAR)


def test_blazar_reserves_servers_on_a_host(api, host):
    classes = [f"CUSTOM_RESERVATION_{str(uuid.uuid4()).upper().replace('-', '_')}" for _ in range(2)]
    by_name = "/resource_providers?name=blazar_compute1"
    assert api.call("GET", by_name, version=BLAZAR).json == {"resource_providers": []}
    body = {"name": "blazar_compute1", "parent_provider_uuid": host}
    assert api.call("POST", "/resource_providers", body, version=BLAZAR).status == 200
    assert api.call("POST", "/resource_providers", body, version=BLAZAR).status == 409
    (provider,) = api.call("GET", by_name, version=BLAZAR).json["resource_providers"]
    for resource_class in classes:
        assert api.call("POST", "/resource_classes", {"name": resource_class}, version=BLAZAR).status == 201
        assert add_reservations(api, provider["uuid"], resource_class, 3).status == 200
    # Blazar reads again after this code alone
    conflict = add_reservations(api, provider["uuid"], classes[0], 5, generation=0)
    assert (conflict.status, conflict.error["code"]) == (409, "placement.concurrent_update")

    query = f"/resource_providers?resources={classes[0]}:1"
    (match,) = api.call("GET", query, version=BLAZAR).json["resource_providers"]
    assert match["uuid"] == provider["uuid"]
    assert api.call("GET", f"/resource_providers/{provider['uuid']}/traits", version=BLAZAR).json["traits"] == []

    for resource_class, answers in ((classes[0], [204, 404]), (classes[1], [204, 404])):
        inventory = f"/resource_providers/{provider['uuid']}/inventories/{resource_class}"
        assert [api.call("DELETE", inventory, version=BLAZAR).status for _ in range(2)] == answers
        item = f"/resource_classes/{resource_class}"
        assert [api.call("DELETE", item, version=BLAZAR).status for _ in range(2)] == answers
    assert api.call("DELETE", f"/resource_providers/{provider['uuid']}", version=BLAZAR).status == 204
