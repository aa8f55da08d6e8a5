# SPDX-License-Identifier: Apache-2.0
"""Translation of flavors into request specs, and errors for invalid flavors."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder import flavors
from rpcapi.spec_builder.builder import build_spec
from rpcapi.spec_builder.flavors import Flavor


def flavor(**extra_specs):
    return Flavor("f", vcpus=2, memory_mb=1024, disk_gb=10, extra_specs=extra_specs)


@pytest.mark.parametrize("built_in", flavors.BUILT_IN.values(), ids=lambda built_in: built_in.name)
def test_built_in_flavor_requests_its_amounts(built_in):
    spec = build_spec(built_in, availability_zone="az1")
    assert spec.resources == {"VCPU": built_in.vcpus, "MEMORY_MB": built_in.memory_mb, "DISK_GB": built_in.disk_gb}
    assert (spec.flavor, spec.availability_zone) == (built_in.name, "az1")


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
        ({"resources:VCPU": str(2**31)}, errors.InvalidSpec, "amount of VCPU"),
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


def test_unknown_flavor_error_lists_the_known_flavors():
    with pytest.raises(errors.UnknownFlavor, match=r"'m1\.smal'; known: m1\.large, m1\.medium"):
        flavors.find(flavors.BUILT_IN, "m1.smal")
