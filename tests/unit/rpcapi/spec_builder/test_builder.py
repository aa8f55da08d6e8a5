# SPDX-License-Identifier: Apache-2.0
"""Request specs of flavor, image, volumes and ports."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import attachments
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.flavors import Flavor
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
    booted = request({}, image=image, attached_volumes=[attachments.read_volume({"size": "20", "boot": "true"})])
    assert booted.image == {"id": "big", "name": "big", "min_disk_gb": 20}
    with pytest.raises(errors.InvalidSpec, match="needs 20 GiB of disk, and the boot volume has 19"):
        request({}, image=image, attached_volumes=[attachments.read_volume({"size": "19", "boot": "true"})])
    existing = request({}, image=image, attached_volumes=[attachments.read_volume({"pool": "p", "boot": "true"})])
    assert existing.volumes == [{"pool": "p", "boot": True}], "the size of an existing volume is not known"


def test_minimum_is_compared_with_the_flavor_whatever_its_extra_specs_request():
    bare = {"resources:VCPU": "0", "resources:MEMORY_MB": "0", "resources:DISK_GB": "0", "resources:CUSTOM_NODE": "1"}
    spec = build_spec(flavor(**bare), Image("big", min_ram_mb=1024, min_disk_gb=10))
    assert spec.resources == {"CUSTOM_NODE": 1}
    assert spec.flavor_amounts == {"VCPU": 2, "MEMORY_MB": 1024, "DISK_GB": 10}


def flavor(**extra_specs):
    return Flavor("f", vcpus=2, memory_mb=1024, disk_gb=10, extra_specs=extra_specs)


def test_extra_specs_add_replace_and_remove():
    specs = {"resources:VCPU": "3", "resources:DISK_GB": "0", "resources:MEMORY_MB": "2048", "resources:CUSTOM_A": "1"}
    assert build_spec(flavor(**specs)).resources == {"VCPU": 3, "MEMORY_MB": 2048, "CUSTOM_A": 1}


def test_amount_of_zero_is_not_requested():
    assert build_spec(Flavor("f", vcpus=1, memory_mb=64, disk_gb=0)).resources == {"VCPU": 1, "MEMORY_MB": 64}


def test_traits_of_flavor_and_request_are_merged_without_duplicates():
    specs = {"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "forbidden"}
    spec = build_spec(flavor(**specs), required_traits=["CUSTOM_C", "CUSTOM_A"], forbidden_traits=["CUSTOM_D"])
    assert spec.required_traits == ["CUSTOM_A", "CUSTOM_C"]
    assert spec.forbidden_traits == ["CUSTOM_B", "CUSTOM_D"]


@pytest.mark.parametrize(
    ("specs", "error_class", "sentence"),
    [
        ({"hw:cpu_policy": "mine"}, errors.InvalidSpec, "'hw:cpu_policy' of flavor 'f', or its image, must be one of"),
        ({"trait:CUSTOM_A": "wanted"}, errors.InvalidSpec, "must be 'required' or 'forbidden', not 'wanted'"),
        ({"trait:NOPE": "required"}, errors.UnknownTrait, "NOPE"),
        ({"resources:VCPU": "-1"}, errors.InvalidSpec, "non-negative integer"),
        ({"resources:VCPU": "²"}, errors.InvalidSpec, "non-negative integer"),
        ({"resources:VCPU": str(2**31)}, errors.InvalidSpec, "resources.VCPU must be"),
        ({"resources:NOPE": "1"}, errors.UnknownResourceClass, "NOPE"),
        ({f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}, errors.InvalidSpec, "got 0"),
    ],
)
def test_invalid_extra_spec_is_refused(specs, error_class, sentence):
    with pytest.raises(error_class) as caught:
        build_spec(flavor(**specs))
    assert sentence in caught.value.sentence


def test_trait_required_by_flavor_and_forbidden_by_request_is_refused():
    with pytest.raises(errors.InvalidSpec, match="requires and forbids CUSTOM_A"):
        build_spec(flavor(**{"trait:CUSTOM_A": "required"}), forbidden_traits=["CUSTOM_A"])
