# SPDX-License-Identifier: Apache-2.0
"""Validation of required, any-of and forbidden traits."""

import pytest

from rpcapi import errors
from rpcapi.validation import traits


def test_valid_traits_pass():
    traits.check(["HW_CPU_X86_AVX2", "CUSTOM_RACK"], [], ["STORAGE_DISK_SSD"])
    traits.check([], [["CUSTOM_A", "CUSTOM_B"]], ["CUSTOM_A"])


@pytest.mark.parametrize(
    ("required", "any_of", "forbidden", "sentence"),
    [
        ("CUSTOM_A", [], [], "the required traits of group '1' must be a list"),
        ([], [["CUSTOM_A", 7]], [], "must contain strings only, not 7"),
        ([], [[]], [], "any-of list of traits of group '1' is empty"),
        (["CUSTOM_A"], [], ["CUSTOM_A"], "requires and forbids CUSTOM_A of group '1'"),
        ([], [["CUSTOM_A"]], ["CUSTOM_B", "CUSTOM_A"], "requires one of CUSTOM_A of group '1', but forbids all"),
        ([], [["CUSTOM_A"]], ["CUSTOM_A"], "but forbids all"),
        ([f"CUSTOM_{n}" for n in range(101)], [], [], "may contain at most 100 elements, got 101"),
        ([f"CUSTOM_{n}" for n in range(60)], [], [f"CUSTOM_B{n}" for n in range(60)], "names more than 100 traits"),
    ],
)
def test_invalid_traits_are_refused_with_the_reason(required, any_of, forbidden, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        traits.check(required, any_of, forbidden, " of group '1'")
    assert sentence in caught.value.sentence


@pytest.mark.parametrize("name", ["HW_CPU_MAGIC", "CUSTOM_A\n", "custom_a", ""])
def test_unknown_trait_is_refused_in_every_list(name):
    for required, any_of, forbidden in (([name], [], []), ([], [[name]], []), ([], [], [name])):
        with pytest.raises(errors.UnknownTrait):
            traits.check(required, any_of, forbidden)
