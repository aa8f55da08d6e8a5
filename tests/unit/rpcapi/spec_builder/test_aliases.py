# SPDX-License-Identifier: Apache-2.0
"""Validation of PCI aliases and device profiles."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import device_profiles, pci_aliases


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense", "is not valid JSON"),
        ("[]", "must be a JSON object with string values"),
        ('{"vendor_id": "8086"}', "has no name"),
        ('{"name": "a", "vendor_id": "8086"}', "needs a resource_class, or vendor_id and product_id"),
        ('{"name": "a", "vendor_id": "80860", "product_id": "0443"}', "four hex digits"),
        ('{"name": "a", "resource_class": "x", "colour": "red"}', "unknown key 'colour'"),
        ('{"name": "a", "resource_class": "x", "numa_policy": "near"}', "numa_policy of alias 'a'"),
        ('{"name": "a", "resource_class": "x", "device_type": "card"}', "device_type of alias 'a'"),
    ],
)
def test_malformed_alias_is_bad_configuration(text, sentence):
    with pytest.raises(errors.BadConfiguration) as caught:
        pci_aliases.parse([text])
    assert sentence in caught.value.sentence


def test_contradicting_definitions_of_an_alias_are_bad_configuration():
    with pytest.raises(errors.BadConfiguration, match="'a' is defined twice"):
        pci_aliases.parse(['{"name": "a", "resource_class": "x"}', '{"name": "a", "resource_class": "y"}'])


@pytest.mark.parametrize("group", [{}, {"trait:CUSTOM_A": "required"}, {"resources1:VGPU": "1"}, {"colour": "red"}])
def test_device_profile_group_without_resources_is_refused(group):
    with pytest.raises(errors.InvalidSpec, match="device profile 'p'"):
        device_profiles.parse_profile("p", [group])
