# SPDX-License-Identifier: Apache-2.0
"""Inventories of a provider, under its generation."""

import pytest

PROVIDERS = "/resource_providers"


@pytest.fixture
def path(api):
    return f"{PROVIDERS}/{api.create('a')}/inventories"


def test_each_change_increases_the_generation(api, path):
    created = api.call("POST", path, {"resource_class": "VCPU", "total": 8})
    assert (created.status, created.json["resource_provider_generation"]) == (201, 1)
    assert created.headers["location"].endswith(f"{path}/VCPU")
    updated = api.call("PUT", f"{path}/VCPU", {"total": 16, "resource_provider_generation": 1})
    assert (updated.status, updated.json["total"], updated.json["resource_provider_generation"]) == (200, 16, 2)
    replaced = api.call("PUT", path, {"resource_provider_generation": 2, "inventories": {"DISK_GB": {"total": 5}}})
    assert (set(replaced.json["inventories"]), replaced.json["resource_provider_generation"]) == ({"DISK_GB"}, 3)
    assert api.call("DELETE", f"{path}/DISK_GB").status == 204
    assert api.call("DELETE", path).status == 204
    assert api.call("GET", path).json == {"resource_provider_generation": 5, "inventories": {}}


def test_defaults_are_those_of_placement(api, path):
    api.call("POST", path, {"resource_class": "VCPU", "total": 8})
    assert api.call("GET", f"{path}/VCPU").json == {
        "total": 8,
        "reserved": 0,
        "min_unit": 1,
        "max_unit": 2147483647,
        "step_size": 1,
        "allocation_ratio": 1.0,
        "resource_provider_generation": 1,
    }


def test_outdated_generation_is_refused_and_changes_nothing(api, path):
    api.call("POST", path, {"resource_class": "VCPU", "total": 8})
    before = api.call("GET", path).json
    answers = [
        api.call("PUT", path, {"resource_provider_generation": 0, "inventories": {}}),
        api.call("PUT", f"{path}/VCPU", {"resource_provider_generation": 0, "total": 1}),
    ]
    assert [(answer.status, answer.error["code"]) for answer in answers] == [(409, "placement.concurrent_update")] * 2
    assert api.call("GET", path).json == before


def test_class_that_is_there_or_missing_is_refused(api, path):
    api.call("POST", path, {"resource_class": "VCPU", "total": 8})
    assert api.call("POST", path, {"resource_class": "VCPU", "total": 8}).status == 409
    assert api.call("PUT", f"{path}/DISK_GB", {"total": 8, "resource_provider_generation": 1}).status == 400
    assert api.call("DELETE", f"{path}/DISK_GB").status == 404
    assert api.call("GET", f"{path}/DISK_GB").status == 404


@pytest.mark.parametrize(
    ("version", "figures", "status"),
    [
        ("1.25", {"total": 8, "reserved": 8}, 400),
        ("1.25", {"total": 8, "reserved": 7}, 201),
        ("1.25", {"total": 8}, 201),
        ("1.26", {"total": 8, "reserved": 8}, 201),
        ("1.39", {"total": 8, "reserved": 9}, 400),
        ("1.39", {"total": 0}, 400),
        ("1.39", {"total": 2147483648}, 400),
        ("1.39", {"total": 8, "allocation_ratio": -1.0}, 400),
        ("1.39", {"total": 8, "allocation_ratio": 0.0}, 201),
        ("1.39", {"total": 2147483647, "allocation_ratio": 3.4e38}, 201),
        ("1.39", {"total": True}, 400),
    ],
)
def test_figures_are_checked(api, path, version, figures, status):
    answer = api.call("POST", path, {"resource_class": "VCPU", **figures}, version=version)
    assert answer.status == status
    assert api.call("GET", path).json["inventories"].keys() == ({"VCPU"} if status == 201 else set())


def test_negative_ratio_is_named_in_the_refusal(api, path):
    answer = api.call("POST", path, {"resource_class": "VCPU", "total": 8, "allocation_ratio": -1.0})
    assert "the allocation_ratio of VCPU must be at least 0" in answer.error["detail"]


def test_unknown_resource_class_is_refused_before_anything_changes(api, path):
    inventories = {"VCPU": {"total": 1}, "CUSTOM_NONE": {"total": 1}}
    answer = api.call("PUT", path, {"resource_provider_generation": 0, "inventories": inventories})
    assert answer.status == 400
    assert "CUSTOM_NONE" in answer.error["detail"]
    assert api.call("GET", path).json["inventories"] == {}


def test_inventory_of_an_unknown_resource_class_is_not_created(api, path):
    answer = api.call("POST", path, {"resource_class": "CUSTOM_NONE", "total": 1})
    assert answer.status == 400
    assert "CUSTOM_NONE" in answer.error["detail"]
    assert api.call("GET", path).json["inventories"] == {}


@pytest.mark.parametrize(("class_exists", "status"), [(False, 404), (True, 400)])
def test_replacing_an_inventory_that_a_provider_lacks_says_whether_its_class_exists(api, path, class_exists, status):
    if class_exists:
        api.call("PUT", "/resource_classes/CUSTOM_NONE")
    body = {"resource_provider_generation": 0, "total": 1}
    answer = api.call("PUT", f"{path}/CUSTOM_NONE", body)
    assert answer.status == status
    assert "CUSTOM_NONE" in answer.error["detail"]
    assert api.call("PUT", f"{path}/CUSTOM_NONE", {**body, "reserved": 2}).status == 400
    assert api.call("GET", path).json["inventories"] == {}


def test_outdated_generation_is_refused_before_other_mistakes(api, path):
    api.call("POST", path, {"resource_class": "VCPU", "total": 8})
    outdated = {"resource_provider_generation": 0}
    answers = [
        api.call("PUT", path, {**outdated, "inventories": {"CUSTOM_NONE": {"total": 1}}}),
        api.call("PUT", f"{path}/VCPU", {**outdated, "total": 1, "reserved": 2}),
        api.call("PUT", f"{path}/DISK_GB", {**outdated, "total": 1}),
    ]
    assert [answer.status for answer in answers] == [409] * 3


def test_all_inventories_are_deleted_at_once_from_1_5(api, path):
    assert api.call("DELETE", path, version="1.4").status == 405
    assert api.call("DELETE", path, version="1.5").status == 204


def test_usages_are_those_of_the_inventory(api, path):
    api.call("POST", path, {"resource_class": "VCPU", "total": 8})
    answer = api.call("GET", path.replace("inventories", "usages"))
    assert answer.json == {"resource_provider_generation": 1, "usages": {"VCPU": 0}}
