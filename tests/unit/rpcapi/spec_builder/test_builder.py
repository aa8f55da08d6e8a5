# SPDX-License-Identifier: Apache-2.0
"""Request specs of flavor, image, volumes and ports."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import volumes
from rpcapi.spec_builder.images import Image
from tests.unit.rpcapi.spec_builder.plain_request import PLAIN, request

# (extra specs, image properties, fields of the spec)
EXAMPLES = {
    "nothing": ({}, {}, {"resources": PLAIN, "groups": {}, "numa": {}, "groups_policy": None}),
    "other extra specs and properties are passed on": (
        SPECS := {"capabilities:hypervisor_type": "s== QEMU", "hw:hide_hypervisor_id": "true", "quota:cpu_shares": "1"},
        {"architecture": "x86_64", "vm_mode": "hvm", "img_hv_type": "kvm", "os_distro": "debian"},
        {
            "resources": PLAIN,
            "extra_specs": SPECS,
            "image": {
                "id": "i",
                "name": "i",
                "properties": {
                    "hw_architecture": "x86_64",
                    "hw_vm_mode": "hvm",
                    "img_hv_type": "kvm",
                    "os_distro": "debian",
                },
            },
        },
    ),
}

CONTRADICTIONS = [
    ({"trait:CUSTOM_A": "forbidden"}, {"trait:CUSTOM_A": "required"}, "requires and forbids CUSTOM_A"),
    ({"trait1:CUSTOM_A": "required"}, {}, "group '1' requests no resources"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "fields"), EXAMPLES.values(), ids=EXAMPLES)
def test_flavor_and_image_are_translated_to_the_expected_fields(extra_specs, properties, fields):
    spec = request(extra_specs, properties)
    assert {name: getattr(spec, name) for name in fields} == fields


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


def test_image_with_a_larger_minimum_than_the_flavor_is_refused():
    with pytest.raises(errors.InvalidSpec, match="needs 8192 MiB of memory, and flavor 'f' has 4096"):
        request({}, image=Image("big", min_ram_mb=8192))
    with pytest.raises(errors.InvalidSpec, match="needs 20 GiB of disk"):
        request({}, image=Image("big", min_disk_gb=20))
    image = Image("big", disk_format="qcow2", min_disk_gb=20)
    booted = request({}, image=image, attached_volumes=[volumes.read({"size": "20", "boot": "true"})])
    assert booted.image == {"id": "big", "name": "big"}
