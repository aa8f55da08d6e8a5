# SPDX-License-Identifier: Apache-2.0
"""Rules for JSON values that a peer sent."""

import pytest

from rpcapi import errors
from rpcapi.validation import rules, text


def refused(rule, value):
    with pytest.raises(errors.InvalidSpec) as caught:
        rule("thing", value)
    return caught.value.sentence


def is_even(path, value):
    if value % 2:
        raise errors.InvalidSpec(why=f"{path} is odd")


@pytest.mark.parametrize("valid", ["a", "zone 1", "x" * 255])
def test_printable_line_passes(valid):
    rules.text("thing", valid)


@pytest.mark.parametrize("invalid", [None, "", " a", "a ", "a\n", "a\x00b", "x" * 256, 7])
def test_other_text_is_refused(invalid):
    assert "thing must be 1 to 255 printable characters" in refused(rules.text, invalid)


def test_none_passes_an_optional_rule_only():
    rules.optional(rules.text)("thing", None)
    assert "thing must be 1 to 255" in refused(rules.optional(rules.text), "")


@pytest.mark.parametrize(
    ("rule", "valid", "invalid", "sentence"),
    [
        (rules.string, "", 7, "thing must be a string, not 7"),
        (rules.boolean, False, 0, "thing must be a boolean, not 0"),
        (rules.integer(1, 3), 3, 4, "thing must be an integer from 1 to 3, not 4"),
        (rules.integer(), 1, True, "thing must be an integer from 1 to 2147483647, not True"),
        (rules.one_of(("a", "b")), "a", [], "thing must be one of a, b, not []"),
        (rules.matching("[a-z]+", "letters"), "ab", "ab\n", "thing must be letters, not"),
        (rules.matching("[a-z]+", "letters"), "ab", None, "thing must be letters, not None"),
        (rules.resource_name, "h/n", ["h", "n"], "thing must be the name of a host or provider"),
        (rules.list_of(is_even, 2, 1), [2], "a", "thing must be a list, not 'a'"),
        (rules.list_of(is_even, 2, 1), [2, 4], [], "thing must have 1 to 2 elements, got 0"),
        (rules.list_of(is_even, 2, 1), (2, 4), [2, 4, 6], "thing must have 1 to 2 elements, got 3"),
        (rules.list_of(is_even, 2, 1), [2], [2, 3], "thing[1] is odd"),
        (rules.mapping(rules.text, is_even, 1), {"a": 2}, [2], "thing must be a mapping, not [2]"),
        (rules.mapping(rules.text, is_even, 1), {}, {"a": 2, "b": 4}, "thing may have at most 1 entries, got 2"),
        (rules.mapping(rules.text, is_even, 1), {}, {"": 2}, "a key of thing must be 1 to 255"),
        (rules.mapping(rules.text, is_even, 1), {}, {1: 2}, "a key of thing must be 1 to 255"),
        (rules.mapping(rules.text, is_even, 1), {"a": 0}, {"a": 1}, "thing.a is odd"),
        (rules.document({"b": is_even, "a": is_even}), {}, {"c": 1}, "thing has an unknown key 'c'; known: a, b"),
        (rules.document({"b": is_even, "a": is_even}), {"a": 2}, {"a": 1}, "thing.a is odd"),
        (rules.document({"a": rules.string}, required="a"), {"a": ""}, {}, "thing.a must be a string, not None"),
        (rules.limited(rules.anything, 5), "abc", "abcd", "thing may take at most 5 bytes as JSON, got 6"),
        (rules.limited(rules.anything, 5), "abc", {1, 2}, "thing cannot be encoded as JSON"),
    ],
)
def test_rule_accepts_what_it_names_and_refuses_the_rest_with_its_path(rule, valid, invalid, sentence):
    rule("thing", valid)
    assert sentence in refused(rule, invalid)


def test_deeply_nested_value_is_refused():
    nested = []
    for _ in range(100_000):
        nested = [nested]
    assert "cannot be encoded" in refused(rules.limited(rules.anything, 10), nested)


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
