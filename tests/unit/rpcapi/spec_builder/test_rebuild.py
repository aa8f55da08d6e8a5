# SPDX-License-Identifier: Apache-2.0
"""What another image changes of a request."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image
from rpcapi.spec_builder.rebuild import changed_fields

PLAIN = Flavor("plain", vcpus=4, memory_mb=4096, disk_gb=10)


def changed(properties, before=(), **extra_specs):
    flavor = Flavor("f", PLAIN.vcpus, PLAIN.memory_mb, PLAIN.disk_gb, extra_specs)
    spec = build_spec(flavor, Image("old", properties=dict(before)))
    return changed_fields(spec, Image("new", properties=properties).as_dict())


@pytest.mark.parametrize(
    ("properties", "fields"),
    [
        ({"hw_disk_bus": "virtio", "img_hv_type": "kvm"}, []),
        ({"hw_numa_nodes": "2"}, ["resources", "groups", "groups_policy", "numa"]),
        ({"hw_cpu_policy": "dedicated"}, ["resources", "groups", "numa"]),
        ({"os_secure_boot": "required"}, ["required_traits"]),
        ({"trait:CUSTOM_A": "required"}, ["required_traits"]),
        ({"hw_maxphysaddr_mode": "emulate"}, ["required_traits"]),
        ({"hw_firmware_type": "uefi", "hw_firmware_stateless": "true"}, ["required_traits"]),
        ({"hw_pci_numa_affinity_policy": "preferred"}, ["pci_numa_affinity_policy"]),
    ],
)
def test_properties_that_change_the_request_are_noticed(properties, fields):
    assert changed(properties) == fields
    assert changed(properties, before=properties) == []
    assert changed({}, before=properties) == fields


def test_property_that_repeats_the_flavor_changes_nothing():
    assert changed({"hw_cpu_policy": "dedicated"}, **{"hw:cpu_policy": "dedicated"}) == []


@pytest.mark.parametrize(
    ("properties", "extra_specs", "message"),
    [
        ({"hw_cpu_policy": "dedicated"}, {"hw:cpu_policy": "shared"}, "does not allow this image value"),
        ({}, {"hw:mem_encryption": "true"}, "needs an image with hw_firmware_type=uefi"),
        ({"hw_tpm_version": "3"}, {}, "must be one of 1.2, 2.0"),
    ],
)
def test_image_that_contradicts_the_flavor_is_refused(properties, extra_specs, message):
    with pytest.raises(errors.InvalidSpec, match=message):
        changed(properties, before={"hw_firmware_type": "uefi"}, **extra_specs)
