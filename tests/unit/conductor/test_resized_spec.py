# SPDX-License-Identifier: Apache-2.0
"""What a resize changes of a request spec, and what the server keeps."""

import pytest

from conductor.resized_spec import OF_FLAVOR, larger_amounts, resize_spec
from rpcapi import errors, objects
from rpcapi.spec_builder.attachments import Volume
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image

SMALL = {"VCPU": 1, "MEMORY_MB": 64, "DISK_GB": 1}
BIG = {"VCPU": 4, "MEMORY_MB": 256, "DISK_GB": 9}


def spec(**values) -> objects.RequestSpec:
    return objects.RequestSpec.of(**{"flavor": "small", "resources": SMALL, **values})


def test_flavor_gives_resources_traits_and_topology():
    flavor = spec(
        flavor="big",
        resources=BIG,
        required_traits=["CUSTOM_FAST"],
        groups={"1": {"resources": {"VGPU": 1}}},
        extra_specs={"a": "b"},
        root_forbidden=["CUSTOM_OLD"],
    )
    former = spec(required_traits=["CUSTOM_SLOW"], extra_specs={"trait:CUSTOM_SLOW": "required"})
    assert resize_spec(former, flavor).obj_to_primitive() == flavor.obj_to_primitive()


def test_traits_of_the_boot_survive_those_of_its_flavor():
    slow = Flavor("slow", 1, 64, 1, {"trait:CUSTOM_SLOW": "required", "trait:CUSTOM_LOUD": "forbidden"})
    fast = Flavor("fast", 4, 256, 1, {"trait:CUSTOM_FAST": "required", "trait:CUSTOM_OLD": "forbidden"})
    own = {
        "required_traits": ["CUSTOM_SSD"],
        "forbidden_traits": ["CUSTOM_BAD"],
        "any_traits": [["CUSTOM_X", "CUSTOM_Y"]],
    }
    image = Image.from_dict({"id": "i", "properties": {"trait:CUSTOM_IMAGE": "required"}})
    resized = resize_spec(build_spec(slow, image, **own), build_spec(fast, image))
    assert sorted(resized.required_traits) == ["CUSTOM_FAST", "CUSTOM_IMAGE", "CUSTOM_SSD"]
    assert sorted(resized.forbidden_traits) == ["CUSTOM_BAD", "CUSTOM_OLD"]
    assert resized.any_traits == [["CUSTOM_X", "CUSTOM_Y"]]
    again = resize_spec(resized, build_spec(slow, image))
    assert sorted(again.required_traits) == ["CUSTOM_IMAGE", "CUSTOM_SLOW", "CUSTOM_SSD"]


def test_server_keeps_its_placement_image_and_attachments():
    server = spec(
        availability_zone="az",
        ignore_hosts=["h1"],
        force_hosts=["h2"],
        hints={"k": "v"},
        group_id="g",
        group_policy="anti-affinity",
        member_of=[["rack"]],
        image={"id": "i"},
        volumes=[{"size_gb": 2, "group": "vol"}],
        ports=[{"physnet": "net", "group": "port"}],
        groups={
            "vol": {"resources": {"DISK_GB": 2}},
            "port": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 5}},
            "1": {},
        },
    )
    elsewhere = {"availability_zone": "other", "hints": {}, "image": {"id": "other"}, "member_of": [["nowhere"]]}
    resized = resize_spec(
        server, spec(flavor="big", resources=BIG, groups={"2": {"resources": {"VGPU": 1}}}, **elsewhere)
    )
    unchanged = objects.RequestSpec.fields.keys() - {*OF_FLAVOR, "requested_destination"}
    assert {name: getattr(resized, name) for name in unchanged} == {name: getattr(server, name) for name in unchanged}
    assert (resized.flavor, resized.resources) == ("big", BIG)
    assert resized.groups.keys() == {"vol", "port", "2"}, "the group of the former flavor is gone"
    assert resized.groups_policy == "none"


def test_server_that_boots_from_a_volume_gets_no_disk():
    server = spec(resources={"VCPU": 1}, volumes=[{"pool": "p", "boot": True}])
    assert resize_spec(server, spec(flavor="big", resources=BIG)).resources == {"VCPU": 4, "MEMORY_MB": 256}


@pytest.mark.parametrize("amount", ["5", "20"])  # 20 is the flavor's own disk
def test_server_that_boots_from_a_volume_keeps_the_disk_that_extra_specs_request(amount):
    before, after = (Flavor(name, 1, 64, 20, {"resources:DISK_GB": amount}) for name in ("one", "two"))
    volumes = [Volume(None, "pool/p", boot=True)]
    booted, expected = (build_spec(flavor, attached_volumes=volumes) for flavor in (before, after))
    assert resize_spec(booted, build_spec(after)).resources == expected.resources
    assert expected.resources["DISK_GB"] == int(amount)


def test_server_with_a_local_disk_and_a_volume_gets_the_disk_of_the_flavor():
    server = spec(resources={"VCPU": 1}, volumes=[{"pool": "p"}])  # its flavor had no disk
    assert resize_spec(server, spec(flavor="big", resources=BIG)).resources == BIG


def test_smaller_disk_is_refused():
    with pytest.raises(errors.InvalidSpec, match="flavor 'small' has 1 GiB of disk, and the server has 9"):
        resize_spec(spec(flavor="big", resources=BIG), spec())


def test_data_volume_does_not_count_as_disk():
    data = {"volumes": [{"size_gb": 9, "group": "vol"}], "groups": {"vol": {"resources": {"DISK_GB": 9}}}}
    assert resize_spec(spec(**data), spec(flavor="big", resources={**BIG, "DISK_GB": 2})).resources["DISK_GB"] == 2


def test_disk_of_the_flavor_counts_whatever_its_extra_specs_request():
    server = spec(resources={"VCPU": 1}, flavor_amounts=BIG)
    with pytest.raises(errors.InvalidSpec, match="has 1 GiB of disk, and the server has 9"):
        resize_spec(server, spec(resources={"VCPU": 1}, flavor_amounts=SMALL))
    assert resize_spec(server, spec(flavor="other", resources=SMALL, flavor_amounts=BIG)).flavor_amounts == BIG


def test_boot_volume_keeps_its_size_with_a_smaller_flavor():
    server = spec(resources={"VCPU": 1}, flavor_amounts=BIG, volumes=[{"pool": "p", "boot": True}])
    assert resize_spec(server, spec(flavor_amounts=SMALL)).flavor_amounts == SMALL


def test_group_with_the_name_of_an_attached_one_is_refused():
    server = spec(ports=[{"group": "x"}], groups={"x": {"resources": {"NET_BW_EGR_KILOBIT_PER_SEC": 5}}})
    with pytest.raises(errors.InvalidSpec, match="the new flavor has group 'x'"):
        resize_spec(server, spec(groups={"x": {"resources": {"VGPU": 1}}}))


def test_larger_amount_of_each_name_counts():
    assert larger_amounts({"VCPU": 1, "VGPU": 2}, {"VCPU": 3, "MEMORY_MB": 4}) == {"VCPU": 3, "VGPU": 2, "MEMORY_MB": 4}
