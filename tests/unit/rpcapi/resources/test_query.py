# SPDX-License-Identifier: Apache-2.0
"""Parsing and validation of the hint ``query``."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.resources import query
from rpcapi.resources.query import EVERYTHING, Literal, Term, TermType, Variable, parse

FREE = Variable(TermType.NUMBER, ("free_ram_mb",))


def test_query_is_parsed_from_text_and_from_a_list():
    hint = ["and", [">=", "$free_ram_mb", 1024], ["not", ["in", "$hypervisor_type", "QEMU", "KVM"]]]
    hypervisor_type = Variable(TermType.FACT, ("hypervisor_type",))
    expected = Term(
        "and",
        (
            Term(">=", (FREE, Literal(1024))),
            Term("not", (Term("in", (hypervisor_type, Literal("QEMU"), Literal("KVM"))),)),
        ),
    )
    assert parse(hint) == parse(json.dumps(hint)) == parse([json.dumps(hint)]) == expected


@pytest.mark.parametrize("hint", [None, "", " ", "[]", "{}", [], {}, "null"])
def test_empty_query_matches_every_host(hint):
    assert parse(hint) == EVERYTHING


def test_null_and_the_empty_string_are_ignored():
    assert parse(["=", "$free_ram_mb", None, "", 5]) == Term("=", (FREE, Literal(5)))


def test_metrics_and_facts_are_parsed_to_their_path():
    assert parse(["<", "$metrics.cpu.percent", 50]).operands[0] == Variable(TermType.NUMBER, ("metrics", "cpu.percent"))
    assert parse(["=", "$facts.rack.row", 7]).operands[0] == Variable(TermType.FACT, ("facts", "rack", "row"))
    assert parse(["=", "$cpu_info.model", "x"]).operands[0] == Variable(TermType.FACT, ("cpu_info", "model"))


@pytest.mark.parametrize(
    ("hint", "why"),
    [
        ("not json", "it is not valid JSON"),
        ("7", "it must be a list"),
        ({"and": []}, "it must be a list"),
        (["~", 1, 2], "unknown operator '~'"),
        ([7, 1, 2], "unknown operator 7"),
        ([["=", 1, 1]], "unknown operator \\['=', 1, 1\\]"),
        (["=", "$free_ram", 1], "unknown variable '\\$free_ram'"),
        (["=", "$free_ram_mb.x", 1], "unknown variable"),
        (["=", "$metrics", 1], "unknown variable"),
        (["=", "$facts.", 1], "unknown variable"),
        (["=", "$", 1], "unknown variable"),
        (["=", {"a": 1}, 1], "is not a string, a number"),
        (["=", "$free_ram_mb", float("nan")], "is not a string, a number"),
        (["=", "$free_ram_mb", 10**400], "is not a string, a number"),
        (["<", "$free_ram_mb", "much"], "cannot compare strings with numbers"),
        (["<", "$hypervisor_type", "a", 1], "cannot compare strings with numbers"),
        (["<", "$host", "b"], "can only be compared with strings, by = or in"),
        (["=", "$host", "$nodename"], "can only be compared with strings, by = or in"),
        (["=", "$host", 7], "can only be compared with strings, by = or in"),
        (["=", "$host", "a b"], "is not a resource name"),
        (["=", "$host_ip", "10.0.0"], "'10.0.0' is not an IP address"),
        (["or", "$host"], "not truth values"),
        (["=", "x" * 256, 1], "at most 255 characters"),
        (json.dumps(["=", "x" * 10000]), "at most 8192 bytes"),
        (["or", *[["=", 1, 1]] * 50], "at most 100 operators and operands"),
        ("[" * 8000, "nested at most|not valid JSON"),
    ],
)
def test_invalid_query_is_refused_with_the_reason(hint, why):
    with pytest.raises(errors.InvalidSpec, match=why):
        parse(hint)


@pytest.mark.parametrize(("depth", "valid"), [(query.MAX_DEPTH, True), (query.MAX_DEPTH + 1, False)])
def test_depth_is_limited(depth, valid):
    hint = ["=", 1, 1]
    for _ in range(depth - 1):
        hint = ["not", hint]
    if valid:
        assert parse(hint).operator == "not"
    else:
        with pytest.raises(errors.InvalidSpec, match="nested at most 8 levels deep"):
            parse(hint)


def test_deeply_nested_lists_are_refused_without_a_crash():
    hint = []
    for _ in range(100_000):
        hint = [hint]
    with pytest.raises(errors.InvalidSpec):
        parse(hint)


PARTS = st.one_of(
    st.sampled_from([*query.COMPARISONS, *query.CONNECTIVES, "$free_ram_mb", "$host", "$facts.x", "$nothing", "$."]),
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=8),
)
GARBAGE = st.recursive(PARTS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=2))


@settings(max_examples=300)
@given(GARBAGE)
def test_arbitrary_hint_is_parsed_or_refused_with_a_typed_error(hint):
    try:
        parsed = parse(hint)
    except errors.InvalidSpec:
        return
    assert isinstance(parsed, Term)
