# SPDX-License-Identifier: Apache-2.0
"""Settings that a flavor and an image both have."""

import pytest

from rpcapi import errors
from rpcapi.spec_builder.draft import FlavorImageProperties, parse_integer
from rpcapi.spec_builder.flavors import Flavor
from rpcapi.spec_builder.images import Image
from tests.unit.rpcapi.spec_builder.plain_request import request

CONTRADICTIONS = [
    ({"hw:numa_nodes": "2"}, {"hw_numa_nodes": "2"}, "the flavor does not allow this image value"),
    ({"os:secure_boot": "optional"}, {"os_secure_boot": "required"}, "the flavor does not allow this image value"),
]


@pytest.mark.parametrize(("extra_specs", "properties", "sentence"), CONTRADICTIONS)
def test_contradiction_is_refused_with_the_reason(extra_specs, properties, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request(extra_specs, properties)
    assert sentence in caught.value.sentence


def pair(extra_specs, properties):
    return FlavorImageProperties(Flavor("f", 1, 64, 0, extra_specs), Image("i", properties=properties))


@pytest.mark.parametrize(
    ("extra_specs", "properties", "value"),
    [
        ({}, {}, None),
        ({"hw:key": "a"}, {}, "a"),
        ({}, {"hw_key": "a"}, "a"),
        ({"hw:key": "a"}, {"hw_key": "a"}, "a"),
        ({"hw:key": ""}, {"hw_key": ""}, None),
    ],
)
def test_value_is_that_of_the_flavor_or_of_the_image(extra_specs, properties, value):
    assert pair(extra_specs, properties).value("key") == value


def test_former_name_of_a_property_is_read():
    assert pair({}, {"architecture": "x86_64"}).image_value("architecture") == "x86_64"


@pytest.mark.parametrize(("text", "expected"), [("True", True), ("yes", True), ("no", False), ("", False)])
def test_flag_is_true_for_the_words_of_nova(text, expected):
    assert pair({"hw:flag": text}, {}).flag("flag") is expected


@pytest.mark.parametrize("is_exclusive", [False, True])
def test_different_values_of_flavor_and_image_are_refused(is_exclusive):
    with pytest.raises(errors.InvalidSpec, match="flavor 'f' sets hw:key=a and image 'i' hw_key=b"):
        pair({"hw:key": "a"}, {"hw_key": "b"}).value("key", is_exclusive=is_exclusive)


@pytest.mark.parametrize(
    ("text", "number"), [("0", 0), ("42", 42), ("-1", None), ("1.0", None), ("", None), ("²", None), (None, None)]
)
def test_only_non_negative_integers_are_parsed(text, number):
    assert parse_integer(text) == number


def test_number_of_more_than_twelve_digits_is_not_parsed():
    assert parse_integer("1" * 12) == int("1" * 12)
    assert parse_integer("1" * 13) is None
