# SPDX-License-Identifier: Apache-2.0
"""Device profiles of flavors."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import device_profiles
from tests.unit.rpcapi.spec_builder.plain_request import request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "a device profile": (
        {"accel:device_profile": "fpga"},
        {},
        {
            "groups": {
                "_dev0": {"resources": {"FPGA": 1}, "required": ["CUSTOM_AES"]},
                "_dev1": {"resources": {"VGPU": 2}},
            },
            "groups_policy": "none",
        },
    ),
}

CONTRADICTIONS = [
    ({"accel:device_profile": "none"}, {}, "names unknown device profile 'none'; known: fpga"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_device_profile_is_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize("group", [{}, {"trait:CUSTOM_A": "required"}, {"resources1:VGPU": "1"}, {"colour": "red"}])
def test_device_profile_group_without_resources_is_refused(group):
    with pytest.raises(errors.InvalidSpec, match="device profile 'p'"):
        device_profiles.parse_profile("p", [group])
