# SPDX-License-Identifier: Apache-2.0
"""PCI devices that flavors request by alias."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import pci
from rpcapi.spec_builder.pci import PciAlias
from tests.unit.rpcapi.spec_builder.plain_request import PLAIN, SINGLE_CELL, cell, numa, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "a device": (
        {"pci_passthrough:alias": "QuickAssist:1"},
        {},
        {"resources": PLAIN, "groups": {"_pci0": {"resources": {"CUSTOM_PCI_8086_0443": 1}}}, "numa": {}},
    ),
    "devices of two kinds": (
        {"pci_passthrough:alias": "QuickAssist:1, nic:2"},
        {},
        {
            "groups": {
                "_pci0": {"resources": {"CUSTOM_PCI_8086_0443": 1}},
                **{
                    f"_pci{n}": {
                        "resources": {"CUSTOM_FAST_NIC": 1},
                        "required": ["CUSTOM_PHYSNET_A", "HW_NIC_SRIOV"],
                    }
                    for n in (1, 2)
                },
            },
            "groups_policy": "none",
        },
    ),
    "a device of the one cell": (
        {"pci_passthrough:alias": "QuickAssist:1", "hw:numa_nodes": "1"},
        {},
        {"numa": numa(SINGLE_CELL, devices={"_pci0": "required"}), "same_subtree": []},
    ),
    "a device of one of two cells": (
        {"pci_passthrough:alias": "QuickAssist:1", "hw:numa_nodes": "2"},
        {},
        {
            "numa": numa(cell(0, [0, 1], [], 2048), cell(1, [2, 3], [], 2048), devices={"_pci0": "required"}),
            "same_subtree": [],
            "groups_policy": "none",
        },
    ),
    "a device of any cell, or of none": (
        {"pci_passthrough:alias": "nic:1,any:1", "hw:numa_nodes": "1"},
        {},
        {"numa": numa(SINGLE_CELL, devices={"_pci0": "legacy"}), "same_subtree": []},
    ),
    "a policy for all devices": (
        {"pci_passthrough:alias": "QuickAssist:1", "hw:numa_nodes": "1"},
        {"hw_pci_numa_affinity_policy": "preferred"},
        {"numa": numa(SINGLE_CELL), "same_subtree": []},
    ),
    "a device of the socket": (
        {"pci_passthrough:alias": "any:1", "hw:pci_numa_affinity_policy": "socket"},
        {},
        {"root_required": ["COMPUTE_SOCKET_PCI_NUMA_AFFINITY"]},
    ),
}

CONTRADICTIONS = [
    ({"pci_passthrough:alias": "QuickAssist"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "QuickAssist:0"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "QuickAssist:65"}, {}, "must be a list of NAME:COUNT"),
    ({"pci_passthrough:alias": "nothing:1"}, {}, "names unknown PCI alias 'nothing'; known: QuickAssist"),
    ({"hw:pci_numa_affinity_policy": "near"}, {}, "must be one of required, socket, legacy, preferred"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_devices_are_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


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
