# SPDX-License-Identifier: Apache-2.0
"""Flavors become request specs once, and odd ones are told why they do not."""

import pytest

from rpcapi import errors
from rpcapi.model import flavors
from rpcapi.model.flavors import Flavor


def flavor(**extra_specs):
    return Flavor("f", vcpus=2, memory_mb=1024, disk_gb=10, extra_specs=extra_specs)


@pytest.mark.parametrize("each", flavors.BUILT_IN.values(), ids=lambda each: each.name)
def test_a_built_in_flavor_asks_for_what_it_says(each):
    spec = each.request(availability_zone="az1")
    assert spec.resources == {"VCPU": each.vcpus, "MEMORY_MB": each.memory_mb, "DISK_GB": each.disk_gb}
    assert (spec.flavor, spec.availability_zone) == (each.name, "az1")


def test_extra_specs_add_replace_and_remove():
    specs = {"resources:VCPU": "3", "resources:DISK_GB": "0", "resources:MEMORY_MB": "2048", "resources:CUSTOM_A": "1"}
    assert flavor(**specs).request().resources == {"VCPU": 3, "MEMORY_MB": 2048, "CUSTOM_A": 1}


def test_an_amount_of_nothing_is_not_asked_for():
    assert Flavor("f", vcpus=1, memory_mb=64, disk_gb=0).request().resources == {"VCPU": 1, "MEMORY_MB": 64}


def test_traits_of_the_flavor_and_of_the_request_come_together_once():
    specs = {"trait:CUSTOM_A": "required", "trait:CUSTOM_B": "forbidden"}
    spec = flavor(**specs).request(required_traits=["CUSTOM_C", "CUSTOM_A"], forbidden_traits=["CUSTOM_D"])
    assert spec.required_traits == ["CUSTOM_A", "CUSTOM_C"]
    assert spec.forbidden_traits == ["CUSTOM_B", "CUSTOM_D"]


@pytest.mark.parametrize(
    ("specs", "kind", "sentence"),
    [
        ({"hw:cpu_policy": "mine"}, errors.InvalidSpec, "'hw:cpu_policy' of flavor 'f', or its image, must be one of"),
        ({"trait:CUSTOM_A": "wanted"}, errors.InvalidSpec, "must be 'required' or 'forbidden', not 'wanted'"),
        ({"trait:NOPE": "required"}, errors.UnknownTrait, "NOPE"),
        ({"resources:VCPU": "-1"}, errors.InvalidSpec, "integer from 0 up"),
        ({"resources:VCPU": "²"}, errors.InvalidSpec, "integer from 0 up"),
        ({"resources:VCPU": str(2**31)}, errors.InvalidSpec, "amount of VCPU"),
        ({"resources:NOPE": "1"}, errors.UnknownResourceClass, "NOPE"),
        ({f"resources:{name}": "0" for name in ("VCPU", "MEMORY_MB", "DISK_GB")}, errors.InvalidSpec, "not 0"),
    ],
)
def test_an_extra_spec_that_makes_no_sense_is_refused(specs, kind, sentence):
    with pytest.raises(kind) as caught:
        flavor(**specs).request()
    assert sentence in caught.value.sentence


def test_what_the_request_forbids_and_the_flavor_requires_is_a_contradiction():
    with pytest.raises(errors.InvalidSpec, match="requires and forbids CUSTOM_A"):
        flavor(**{"trait:CUSTOM_A": "required"}).request(forbidden_traits=["CUSTOM_A"])


def test_an_unknown_flavor_is_told_the_known_ones():
    with pytest.raises(errors.UnknownFlavor, match=r"'m1\.smal'; known: m1\.large, m1\.medium"):
        flavors.find(flavors.BUILT_IN, "m1.smal")
