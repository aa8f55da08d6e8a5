# SPDX-License-Identifier: Apache-2.0
"""Traits, resource classes and aggregates."""

import uuid

import pytest

from tests.support.scheduler import hosts

KINDS = {"/traits": "traits", "/resource_classes": "resource_classes"}


def names(api, path):
    listed = api.call("GET", path).json[KINDS[path]]
    return [name if isinstance(name, str) else name["name"] for name in listed]


@pytest.mark.parametrize("path", KINDS)
def test_custom_name_is_created_once_and_deleted(api, path):
    assert "CUSTOM_A" not in names(api, path)
    assert [api.call("PUT", f"{path}/CUSTOM_A").status for _ in range(2)] == [201, 204]
    assert names(api, path)[-1] == "CUSTOM_A"
    assert api.call("GET", f"{path}/CUSTOM_A").status in (200, 204)
    assert api.call("DELETE", f"{path}/CUSTOM_A").status == 204
    assert api.call("GET", f"{path}/CUSTOM_A").status == 404
    assert api.call("DELETE", f"{path}/CUSTOM_A").status == 404
    assert api.call("PUT", f"{path}/CUSTOM_A").status == 201


@pytest.mark.parametrize(("path", "namespace"), [("/traits", "trait"), ("/resource_classes", "resource_class")])
def test_name_whose_document_has_no_time_is_shown(api, path, namespace):
    api.store.put_state(namespace, "CUSTOM_A", 0, {})
    assert api.call("GET", f"{path}/CUSTOM_A").status in (200, 204)
    assert api.call("PUT", f"{path}/CUSTOM_A").status == 204


@pytest.mark.parametrize("path", KINDS)
@pytest.mark.parametrize("name", ["VCPU", "CUSTOM_", "CUSTOM_a", "CUSTOM_☃", "CUSTOM_" + "A" * 249, "custom_A"])
def test_malformed_custom_name_is_refused(api, path, name):
    assert api.call("PUT", f"{path}/{name}").status == 400
    assert api.call("GET", f"{path}/{name}").status in ((200, 404) if name == "VCPU" else (404,))


@pytest.mark.parametrize(("path", "name"), [("/traits", "HW_CPU_X86_AVX"), ("/resource_classes", "VCPU")])
def test_standard_name_stays(api, path, name):
    assert name in names(api, path)
    assert api.call("DELETE", f"{path}/{name}").status == 400


def test_name_that_a_provider_has_is_not_deleted(api):
    provider = f"/resource_providers/{api.create('a')}"
    api.call("PUT", "/traits/CUSTOM_A")
    api.call("PUT", "/resource_classes/CUSTOM_A")
    traits = {"resource_provider_generation": 0, "traits": ["CUSTOM_A"]}
    assert api.call("PUT", f"{provider}/traits", traits).status == 200
    assert api.call("POST", f"{provider}/inventories", {"resource_class": "CUSTOM_A", "total": 1}).status == 201
    for path in KINDS:
        assert api.call("DELETE", f"{path}/CUSTOM_A").status == 409
    assert api.call("DELETE", f"{provider}/traits").status == 204
    assert api.call("DELETE", f"{provider}/inventories").status == 204
    for path in KINDS:
        assert api.call("DELETE", f"{path}/CUSTOM_A").status == 204


def test_names_that_only_agents_use_exist(api):
    hosts.join(api.store, {"h1": hosts.node({"CUSTOM_GOLD": 1}, traits=["CUSTOM_FAST"])})
    assert names(api, "/traits")[-1] == "CUSTOM_FAST"
    assert names(api, "/resource_classes")[-1] == "CUSTOM_GOLD"
    assert api.call("GET", "/resource_providers?required=CUSTOM_FAST&resources=CUSTOM_GOLD:1").json[
        "resource_providers"
    ]
    assert api.call("DELETE", "/traits/CUSTOM_FAST").status == 409


def test_traits_are_selected_by_name_and_by_use(api):
    for name in ("CUSTOM_A", "CUSTOM_B", "CUSTOM_AB"):
        api.call("PUT", f"/traits/{name}")
    provider = f"/resource_providers/{api.create('a')}/traits"
    api.call("PUT", provider, {"resource_provider_generation": 0, "traits": ["CUSTOM_B"]})
    expected = {
        "name=in:CUSTOM_A,CUSTOM_NONE": ["CUSTOM_A"],
        "name=startswith:CUSTOM_A": ["CUSTOM_A", "CUSTOM_AB"],
        "associated=true": ["CUSTOM_B"],
        "associated=False&name=startswith:CUSTOM_": ["CUSTOM_A", "CUSTOM_AB"],
    }
    assert {query: api.call("GET", f"/traits?{query}").json["traits"] for query in expected} == expected
    assert api.call("GET", "/traits?associated=1").status == 400


def test_class_is_renamed_until_1_6(api):
    api.call("PUT", "/resource_classes/CUSTOM_A")
    answer = api.call("PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_B"}, version="1.6")
    assert answer.json["name"] == "CUSTOM_B"
    assert names(api, "/resource_classes")[-1] == "CUSTOM_B"
    assert api.call("PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_C"}, version="1.6").status == 404
    assert api.call("PUT", "/resource_classes/VCPU", {"name": "CUSTOM_C"}, version="1.6").status == 400


def test_class_in_use_is_not_renamed(api):
    provider = f"/resource_providers/{api.create('a')}/inventories"
    api.call("PUT", "/resource_classes/CUSTOM_A")
    api.call("POST", provider, {"resource_class": "CUSTOM_A", "total": 1})
    assert api.call("PUT", "/resource_classes/CUSTOM_A", {"name": "CUSTOM_B"}, version="1.6").status == 409
    assert names(api, "/resource_classes")[-1] == "CUSTOM_A"


def test_traits_of_a_provider_move_the_generation_only_if_they_change(api):
    path = f"/resource_providers/{api.create('a')}/traits"
    body = {"resource_provider_generation": 0, "traits": ["HW_CPU_X86_AVX"]}
    assert api.call("PUT", path, body).json["resource_provider_generation"] == 1
    assert api.call("PUT", path, body).status == 409
    again = api.call("PUT", path, body | {"resource_provider_generation": 1})
    assert again.json == {"traits": ["HW_CPU_X86_AVX"], "resource_provider_generation": 1}
    assert api.call("PUT", path, body | {"traits": ["CUSTOM_NONE"], "resource_provider_generation": 1}).status == 400
    assert api.call("GET", path).json == again.json


def test_aggregates_have_a_generation_from_1_19(api):
    path, aggregate = f"/resource_providers/{api.create('a')}/aggregates", str(uuid.uuid4())
    assert api.call("PUT", path, [aggregate], version="1.18").json == {"aggregates": [aggregate]}
    body = {"aggregates": [], "resource_provider_generation": 0}
    assert api.call("PUT", path, body).json == {"aggregates": [], "resource_provider_generation": 1}
    assert api.call("PUT", path, body).error["code"] == "placement.concurrent_update"
    assert api.call("GET", path, version="1.0").status == 404
