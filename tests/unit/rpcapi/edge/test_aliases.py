# SPDX-License-Identifier: Apache-2.0
"""PCI aliases and device profiles that are none."""

import pytest

from rpcapi import errors
from rpcapi.edge import devices
from rpcapi.model import pci


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("nonsense", "is no JSON"),
        ("[]", "must be a JSON object of texts"),
        ('{"vendor_id": "8086"}', "has no name"),
        ('{"name": "a", "vendor_id": "8086"}', "needs a resource_class, or vendor_id and product_id"),
        ('{"name": "a", "vendor_id": "80860", "product_id": "0443"}', "four hex digits"),
        ('{"name": "a", "resource_class": "x", "colour": "red"}', "unknown key 'colour'"),
        ('{"name": "a", "resource_class": "x", "numa_policy": "near"}', "numa_policy of alias 'a'"),
        ('{"name": "a", "resource_class": "x", "device_type": "card"}', "device_type of alias 'a'"),
    ],
)
def test_an_alias_that_is_none_is_bad_configuration(text, sentence):
    with pytest.raises(errors.BadConfiguration) as caught:
        pci.parse([text])
    assert sentence in caught.value.sentence


def test_an_alias_of_two_meanings_is_bad_configuration():
    with pytest.raises(errors.BadConfiguration, match="'a' is there twice"):
        pci.parse(['{"name": "a", "resource_class": "x"}', '{"name": "a", "resource_class": "y"}'])


@pytest.mark.parametrize("told", [{}, {"trait:CUSTOM_A": "required"}, {"resources1:VGPU": "1"}, {"colour": "red"}])
def test_a_device_profile_needs_groups_that_ask_for_something(told):
    with pytest.raises(errors.InvalidSpec, match="device profile 'p'"):
        devices.profile("p", [told])
