# SPDX-License-Identifier: Apache-2.0
"""Translation of extra specs and image traits that name resource classes, traits and groups."""

import pytest

from rpcapi import errors
from tests.unit.rpcapi.spec_builder.plain_request import DISK, PLAIN, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "resources in place": (
        {"resources:VCPU": "2", "resources:DISK_GB": "0", "resources:CUSTOM_GOLD": "1"},
        {},
        {"resources": {"VCPU": 2, "MEMORY_MB": 4096, "CUSTOM_GOLD": 1}},
    ),
    "bare metal": (
        {"resources:CUSTOM_GOLD": "1"} | {f"resources:{resource_class}": "0" for resource_class in PLAIN},
        {},
        {"resources": {"CUSTOM_GOLD": 1}},
    ),
    "numbered groups": (
        {
            "resources1:VGPU": "1",
            "trait1:CUSTOM_A": "required",
            "resources2:VGPU": "1",
            "trait2:CUSTOM_B": "forbidden",
            "group_policy": "isolate",
        },
        {},
        {
            "resources": PLAIN,
            "groups": {
                "1": {"resources": {"VGPU": 1}, "required": ["CUSTOM_A"]},
                "2": {"resources": {"VGPU": 1}, "forbidden": ["CUSTOM_B"]},
            },
            "groups_policy": "isolate",
        },
    ),
    "groups without a policy": (
        {"resources1:VGPU": "1", "resources_b:FPGA": "1"},
        {},
        {"groups": {"1": {"resources": {"VGPU": 1}}, "_b": {"resources": {"FPGA": 1}}}, "groups_policy": "none"},
    ),
    "a class of a group is not requested twice": (
        {"resources1:VCPU": "4", "resources1:MEMORY_MB": "4096"},
        {},
        {"resources": DISK, "groups": {"1": {"resources": {"VCPU": 4, "MEMORY_MB": 4096}}}},
    ),
    "traits of both": (
        {"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "forbidden"},
        {"trait:CUSTOM_C": "required", "trait:CUSTOM_A": "required"},
        {"required_traits": ["CUSTOM_A", "CUSTOM_C"], "forbidden_traits": ["CUSTOM_B"]},
    ),
}

CONTRADICTIONS = [
    ({"resources:VCPU": "x"}, {}, "must be a non-negative integer"),
    ({"trait:CUSTOM_A": "wanted"}, {}, "must be 'required' or 'forbidden'"),
    ({}, {"trait:CUSTOM_A": "forbidden"}, "of image 'i' must be 'required'"),
    ({"group_policy": "apart"}, {}, "must be one of none, isolate"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_extra_specs_are_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence
