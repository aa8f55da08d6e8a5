# SPDX-License-Identifier: Apache-2.0
"""Validation of amounts by resource class."""

import pytest

from rpcapi import errors
from rpcapi.resources.inventory import MAX_AMOUNT
from rpcapi.validation import amounts


@pytest.mark.parametrize("resources", [{}, {"VCPU": 1}, {"CUSTOM_GOLD_2": MAX_AMOUNT}])
def test_valid_amounts_pass(resources):
    amounts.check(resources)


@pytest.mark.parametrize(
    ("resources", "error_class", "sentence"),
    [
        (
            {f"CUSTOM_{n}": 1 for n in range(33)},
            errors.InvalidSpec,
            "the resources may contain at most 32 entries, got 33",
        ),
        (["VCPU"], errors.InvalidSpec, "the resources must be a mapping"),
        ({"VCPU": 0}, errors.InvalidSpec, "amount of VCPU must be an integer from 1"),
        ({"VCPU": -1}, errors.InvalidSpec, "not -1"),
        ({"VCPU": True}, errors.InvalidSpec, "not True"),
        ({"VCPU": 1.5}, errors.InvalidSpec, "not 1.5"),
        ({"VCPU": MAX_AMOUNT + 1}, errors.InvalidSpec, "amount of VCPU"),
        ({"VCPUS": 1}, errors.UnknownResourceClass, "'VCPUS'"),
        ({"CUSTOM_gold": 1}, errors.UnknownResourceClass, "CUSTOM_gold"),
        ({"CUSTOM_": 1}, errors.UnknownResourceClass, "CUSTOM_"),
        ({"CUSTOM_" + "A" * 255: 1}, errors.UnknownResourceClass, "CUSTOM_AAA"),
    ],
)
def test_invalid_amounts_are_refused_with_the_reason(resources, error_class, sentence):
    with pytest.raises(error_class) as caught:
        amounts.check(resources)
    assert sentence in caught.value.sentence


def test_error_names_the_group_of_the_amount():
    with pytest.raises(errors.InvalidSpec, match="amount of VGPU of group '1'"):
        amounts.check({"VGPU": 0}, " of group '1'")
