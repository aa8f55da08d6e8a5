# SPDX-License-Identifier: Apache-2.0
"""Known resource classes and traits."""

import pytest

from rpcapi import errors
from rpcapi.resources import vocabulary


@pytest.mark.parametrize("name", ["VCPU", "CUSTOM_GOLD_2", "CUSTOM_" + "A" * 248])
def test_standard_or_custom_resource_class_passes(name):
    vocabulary.check_resource_class(name)


@pytest.mark.parametrize("name", ["HW_CPU_X86_AVX2", "CUSTOM_RACK"])
def test_standard_or_custom_trait_passes(name):
    vocabulary.check_trait(name)


@pytest.mark.parametrize(
    "name", ["NOPE", "CUSTOM_", "CUSTOM_gold", "CUSTOM_A\n", "CUSTOM_" + "A" * 249, "", 7, None, ["VCPU"]]
)
def test_other_names_are_unknown(name):
    with pytest.raises(errors.UnknownResourceClass):
        vocabulary.check_resource_class(name)
    with pytest.raises(errors.UnknownTrait):
        vocabulary.check_trait(name)


def test_trait_is_no_resource_class_and_the_reverse():
    with pytest.raises(errors.UnknownResourceClass):
        vocabulary.check_resource_class("HW_CPU_X86_AVX2")
    with pytest.raises(errors.UnknownTrait):
        vocabulary.check_trait("VCPU")


def test_error_shows_the_beginning_of_a_long_name():
    with pytest.raises(errors.UnknownTrait) as caught:
        vocabulary.check_trait("X" * 1000)
    assert len(caught.value.kwargs["name"]) == 60
