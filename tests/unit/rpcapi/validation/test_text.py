# SPDX-License-Identifier: Apache-2.0
"""Checks of strings, lists and mappings that a peer sent."""

import pytest

from rpcapi import errors
from rpcapi.validation import text


def refused(check, *arguments):
    with pytest.raises(errors.InvalidSpec) as caught:
        check("thing", *arguments)
    return caught.value.sentence


@pytest.mark.parametrize("valid", [None, "a", "zone 1", "x" * 255])
def test_printable_line_passes(valid):
    text.check_text("thing", valid)


@pytest.mark.parametrize("invalid", ["", " a", "a ", "a\n", "a\x00b", "x" * 256, 7])
def test_other_text_is_refused(invalid):
    assert "the thing must be 1 to 255 printable characters" in refused(text.check_text, invalid)


def test_mapping_must_have_string_keys_and_few_entries():
    text.check_mapping("thing", {"a": 1}, 1)
    assert "thing must be a mapping with string keys, not [1]" in refused(text.check_mapping, [1], 1)
    assert "thing must be a mapping with string keys" in refused(text.check_mapping, {1: 1}, 1)
    assert "thing may contain at most 1 entries, got 2" in refused(text.check_mapping, {"a": 1, "b": 2}, 1)


def test_unknown_key_is_refused_with_the_known_ones():
    text.check_keys("thing", {"a": 1}, ("b", "a"))
    assert "thing has an unknown key 'c'; known: a, b" in refused(text.check_keys, {"c": 1}, ("b", "a"))


@pytest.mark.parametrize(
    ("value", "sentence"),
    [("abcd", "at most 5 bytes as JSON, got 6"), (object(), "cannot be encoded"), ({1, 2}, "cannot be encoded")],
)
def test_size_is_limited_as_json(value, sentence):
    text.check_size("thing", "abc", 5)
    assert sentence in refused(text.check_size, value, 5)


def test_deeply_nested_value_is_refused():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    assert "cannot be encoded" in refused(text.check_size, nested, 10)


def test_list_must_have_few_elements_and_strings():
    text.check_texts("thing", ("a",), 1)
    assert "thing must be a list, not 'a'" in refused(text.check_texts, "a", 1)
    assert "thing may contain at most 1 elements, got 2" in refused(text.check_texts, ["a", "b"], 1)
    assert "thing must contain strings only, not None" in refused(text.check_texts, [None], 1)


@pytest.mark.parametrize(
    ("value", "valid"), [(1, True), (3, True), (0, False), (4, False), (True, False), (1.0, False)]
)
def test_integer_is_in_range_and_no_boolean(value, valid):
    assert text.is_integer(value, 1, 3) is valid


def test_long_values_and_lists_are_shortened():
    assert text.abbreviate("x" * 38) == repr("x" * 38)
    assert text.abbreviate("x" * 39) == "'" + "x" * 39 + "..."
    assert text.join_names("abcde") == "a, b, c, d, e"
    assert text.join_names("abcdefg") == "a, b, c, d, e and 2 more"
