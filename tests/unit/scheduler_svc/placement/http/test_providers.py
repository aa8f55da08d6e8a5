# SPDX-License-Identifier: Apache-2.0
"""Resource providers of clients and of agents."""

import uuid

import pytest

from scheduler_svc.core.provider_uuids import uuid_of
from tests.support.scheduler import hosts
from tests.support.scheduler.placement import PlacementApi

PROVIDERS = "/resource_providers"
UNKNOWN = "11111111-1111-4111-8111-111111111111"


@pytest.fixture
def agents_api():
    """The API beside an agent that reported node h1/n1."""
    api = PlacementApi()
    hosts.join(api.store, {"h1/n1": hosts.node(traits=["HW_CPU_X86_AVX"])})
    return api


def uuids(answer):
    return {provider["uuid"] for provider in answer.json["resource_providers"]}


def test_provider_has_the_chosen_uuid_or_a_new_one(api):
    own = uuid.uuid4()
    answer = api.call("POST", PROVIDERS, {"name": "a", "uuid": own.hex})
    assert answer.json["uuid"] == str(own)
    assert uuid.UUID(api.create("b")).version == 4
    assert uuids(api.call("GET", PROVIDERS)) >= {str(own)}


def test_name_is_stored_to_the_letter(api):
    name = "host.example:br-ex:☃ /%41"
    created = api.create(name)
    assert api.call("GET", f"{PROVIDERS}/{created}").json["name"] == name


def test_uuid_and_name_are_unique(api):
    created = api.create("a")
    same_uuid = api.call("POST", PROVIDERS, {"name": "b", "uuid": created})
    same_name = api.call("POST", PROVIDERS, {"name": "a"})
    assert same_uuid.status == same_name.status == 409
    assert same_uuid.error["code"] == same_name.error["code"] == "placement.duplicate_name"
    assert f"uuid: {created}" in same_uuid.error["detail"]
    assert "name: a" in same_name.error["detail"]


def test_tree_is_shown_moved_and_deleted_from_below(api):
    root, other = api.create("root"), api.create("other")
    child = api.create("child", root)
    assert api.call("GET", f"{PROVIDERS}/{child}").json["root_provider_uuid"] == root
    assert api.call("DELETE", f"{PROVIDERS}/{root}").error["code"] == (
        "placement.resource_provider.cannot_delete_parent"
    )
    moved = api.call("PUT", f"{PROVIDERS}/{child}", {"name": "child", "parent_provider_uuid": other})
    assert (moved.json["parent_provider_uuid"], moved.json["root_provider_uuid"]) == (other, other)
    assert uuids(api.call("GET", f"{PROVIDERS}?in_tree={child}")) == {other, child}
    assert api.call("DELETE", f"{PROVIDERS}/{root}").status == 204
    assert api.call("GET", f"{PROVIDERS}/{root}").status == 404


@pytest.mark.parametrize(
    ("parent", "version", "text"),
    [
        ("child", "1.37", "loop"),
        (UNKNOWN, "1.39", "parent provider UUID does not exist"),
        (None, "1.36", "un-parenting"),
        ("other", "1.36", "re-parenting"),
    ],
)
def test_parent_that_cannot_be_is_refused_and_changes_nothing(api, parent, version, text):
    providers = {"root": api.create("root"), "other": api.create("other")}
    providers["middle"] = api.create("middle", providers["root"])
    providers["child"] = api.create("child", providers["middle"])
    path = f"{PROVIDERS}/{providers['middle']}"
    before = api.call("GET", path).json
    body = {"name": "new", "parent_provider_uuid": providers.get(parent, parent)}
    answer = api.call("PUT", path, body, version=version)
    assert answer.status == 400
    assert text in answer.error["detail"]
    assert api.call("GET", path).json == before


@pytest.mark.parametrize("identity", ["none", "☃", UNKNOWN, UNKNOWN.replace("-", ""), "x" * 300, "h1%2Fn1"])
def test_unknown_provider_is_not_found(agents_api, identity):
    for method in ("GET", "DELETE"):
        assert agents_api.call(method, f"{PROVIDERS}/{identity}").status == 404


def test_agents_provider_is_shown_by_a_uuid_of_its_name(agents_api):
    identity = uuid_of("h1/n1")
    answer = agents_api.call("GET", f"{PROVIDERS}/{identity}")
    assert (answer.json["name"], answer.json["parent_provider_uuid"]) == ("h1/n1", None)
    assert uuids(agents_api.call("GET", PROVIDERS)) == {identity}
    assert uuids(agents_api.call("GET", f"{PROVIDERS}?name=h1/n1")) == {identity}
    inventories = agents_api.call("GET", f"{PROVIDERS}/{identity}/inventories").json["inventories"]
    assert inventories["VCPU"]["total"] == 8


def test_agents_provider_takes_children_and_traits_of_clients_but_no_other_change(agents_api):
    identity = uuid_of("h1/n1")
    child = agents_api.create("child", identity)
    assert uuids(agents_api.call("GET", f"{PROVIDERS}?in_tree={child}")) == {identity, child}
    path = f"{PROVIDERS}/{identity}"
    refused = [
        agents_api.call("PUT", path, {"name": "other"}),
        agents_api.call("DELETE", path),
        agents_api.call("PUT", f"{path}/inventories", {"resource_provider_generation": 0, "inventories": {}}),
        agents_api.call("PUT", f"{path}/traits", {"resource_provider_generation": 0, "traits": []}),
    ]
    assert [answer.status for answer in refused] == [409] * 4
    traits = ["HW_CPU_X86_AVX", "STORAGE_DISK_SSD"]
    answer = agents_api.call("PUT", f"{path}/traits", {"resource_provider_generation": 0, "traits": traits})
    assert answer.json["traits"] == traits


def test_name_of_an_agents_provider_is_taken(agents_api):
    assert agents_api.call("POST", PROVIDERS, {"name": "h1/n1"}).error["code"] == "placement.duplicate_name"


def test_list_is_filtered_by_all_parameters(api):
    large, small = api.create("large"), api.create("small")
    api.set_inventories(large, VCPU=16)
    api.set_inventories(small, VCPU=4)
    aggregate = str(uuid.uuid4())
    api.call("PUT", f"{PROVIDERS}/{large}/aggregates", {"resource_provider_generation": 1, "aggregates": [aggregate]})
    api.call("PUT", f"{PROVIDERS}/{small}/traits", {"resource_provider_generation": 1, "traits": ["HW_CPU_X86_AVX"]})
    expected = {
        "resources=VCPU:8": {large},
        "resources=VCPU:4": {large, small},
        f"member_of={aggregate}": {large},
        f"member_of=!{aggregate}": {small},
        "required=HW_CPU_X86_AVX": {small},
        "required=!HW_CPU_X86_AVX": {large},
        "required=in:HW_CPU_X86_AVX,HW_CPU_X86_SSE": {small},
        f"uuid={large}&name=small": set(),
        f"in_tree={UNKNOWN}": set(),
    }
    assert {query: uuids(api.call("GET", f"{PROVIDERS}?{query}")) for query in expected} == expected


@pytest.mark.parametrize("query", ["resources=NONE:1", "required=CUSTOM_NONE", "resources=VCPU:0", "resources=VCPU"])
def test_list_with_unknown_names_or_bad_amounts_is_refused(api, query):
    assert api.call("GET", f"{PROVIDERS}?{query}").status == 400
