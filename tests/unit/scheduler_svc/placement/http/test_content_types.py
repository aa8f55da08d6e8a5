# SPDX-License-Identifier: Apache-2.0
"""Which operations take and give JSON only; the others do not look at the types that a client names."""

import pytest

UUID = "00000000-0000-0000-0000-000000000001"
PROVIDER = f"/resource_providers/{UUID}"
# By path, the operations that take a JSON body and those that give one, and the others.
OPERATIONS = {
    "/": ("", "", "GET"),
    "/healthz": ("", "", "GET HEAD"),
    "/resource_providers": ("POST", "GET", ""),
    PROVIDER: ("PUT", "GET", "DELETE"),
    f"{PROVIDER}/inventories": ("POST PUT", "GET", "DELETE"),
    f"{PROVIDER}/inventories/VCPU": ("PUT", "GET", "DELETE"),
    f"{PROVIDER}/aggregates": ("PUT", "GET", ""),
    f"{PROVIDER}/traits": ("PUT", "GET", "DELETE"),
    f"{PROVIDER}/usages": ("", "GET", ""),
    f"{PROVIDER}/allocations": ("", "GET", ""),
    "/usages": ("", "GET", ""),
    "/allocations": ("POST", "", ""),
    f"/allocations/{UUID}": ("PUT", "GET", "DELETE"),
    "/allocation_candidates": ("", "GET", ""),
    "/resource_classes": ("POST", "GET", ""),
    "/resource_classes/CUSTOM_A": ("", "GET", "PUT DELETE"),
    "/traits": ("", "GET", ""),
    "/traits/CUSTOM_A": ("", "", "GET PUT DELETE"),
    "/reshaper": ("POST", "", ""),
}
TYPES = {"CONTENT_TYPE": "text/plain", "HTTP_ACCEPT": "text/plain"}
UNSUPPORTED, NOT_ACCEPTABLE = 415, 406


@pytest.mark.parametrize("path", OPERATIONS)
def test_types_of_bodies_are_checked(api, path):
    methods = ("GET", "HEAD", "POST", "PUT", "DELETE")
    statuses = {method: api.call(method, path, **TYPES).status for method in methods}
    taking, giving, others = (set(names.split()) for names in OPERATIONS[path])
    assert {method for method in methods if statuses[method] == UNSUPPORTED} == taking
    assert {method for method in methods if statuses[method] == NOT_ACCEPTABLE} == giving
    assert {method for method in methods if statuses[method] == 405} == set(methods) - taking - giving - others


def test_new_name_of_a_resource_class_is_json(api):
    assert api.call("PUT", "/resource_classes/CUSTOM_A", version="1.6", **TYPES).status == UNSUPPORTED


@pytest.mark.parametrize(("method", "status"), [("GET", NOT_ACCEPTABLE), ("PUT", UNSUPPORTED)])
def test_types_of_aggregates_are_checked_before_the_microversion(api, method, status):
    assert api.call(method, f"{PROVIDER}/aggregates", version="1.0", **TYPES).status == status
    assert api.call(method, f"{PROVIDER}/traits", version="1.0", **TYPES).status == 404
