# SPDX-License-Identifier: Apache-2.0
"""PCI aliases: resource classes and traits that they request, and malformed ones."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import pci
from rpcapi.spec_builder.pci import PciAlias


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
        pci.parse([text])
    assert sentence in caught.value.sentence


def test_contradicting_definitions_of_an_alias_are_bad_configuration():
    with pytest.raises(errors.BadConfiguration, match="'a' is defined twice"):
        pci.parse(['{"name": "a", "resource_class": "x"}', '{"name": "a", "resource_class": "y"}'])


@pytest.mark.parametrize(
    ("text", "alias"),
    [
        ('{"name": "a", "vendor_id": "10de", "product_id": "1DB6"}', PciAlias("a", "CUSTOM_PCI_10DE_1DB6")),
        ('{"name": "a", "resource_class": "fast nic"}', PciAlias("a", "CUSTOM_FAST_NIC")),
        ('{"name": "a", "resource_class": "vgpu"}', PciAlias("a", "VGPU")),
        (
            '{"name": "a", "resource_class": "x", "traits": "hw_nic_sriov, rack 1", "numa_policy": "socket"}',
            PciAlias("a", "CUSTOM_X", ("HW_NIC_SRIOV", "CUSTOM_RACK_1"), "socket"),
        ),
    ],
)
def test_alias_is_read_with_its_resource_class_and_traits(text, alias):
    assert pci.parse([text, text]) == {"a": alias}
