# SPDX-License-Identifier: Apache-2.0
"""The hint ``query``: what can be read, and what is refused before any host is looked at."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors
from rpcapi.model import query
from rpcapi.model.query import EVERYTHING, Kind, Literal, Term, Variable, parse

FREE = Variable(Kind.NUMBER, ("free_ram_mb",))


def test_a_query_is_read_from_text_and_from_a_list():
    told = ["and", [">=", "$free_ram_mb", 1024], ["not", ["in", "$hypervisor_type", "QEMU", "KVM"]]]
    kind = Variable(Kind.FACT, ("hypervisor_type",))
    read = Term(
        "and",
        (
            Term(">=", (FREE, Literal(1024))),
            Term("not", (Term("in", (kind, Literal("QEMU"), Literal("KVM"))),)),
        ),
    )
    assert parse(told) == parse(json.dumps(told)) == parse([json.dumps(told)]) == read


@pytest.mark.parametrize("told", [None, "", " ", "[]", "{}", [], {}, "null"])
def test_what_asks_nothing_is_met_by_every_host(told):
    assert parse(told) == EVERYTHING


def test_null_and_the_empty_text_are_no_operands():
    assert parse(["=", "$free_ram_mb", None, "", 5]) == Term("=", (FREE, Literal(5)))


def test_metrics_and_facts_are_looked_up_by_what_follows():
    assert parse(["<", "$metrics.cpu.percent", 50]).operands[0] == Variable(Kind.NUMBER, ("metrics", "cpu.percent"))
    assert parse(["=", "$facts.rack.row", 7]).operands[0] == Variable(Kind.FACT, ("facts", "rack", "row"))
    assert parse(["=", "$cpu_info.model", "x"]).operands[0] == Variable(Kind.FACT, ("cpu_info", "model"))


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("not json", "it is no JSON"),
        ("7", "it must be a list"),
        ({"and": []}, "it must be a list"),
        (["~", 1, 2], "no operator '~'"),
        ([7, 1, 2], "no operator 7"),
        ([["=", 1, 1]], "no operator \\['=', 1, 1\\]"),
        (["=", "$free_ram", 1], "no variable '\\$free_ram'"),
        (["=", "$free_ram_mb.x", 1], "no variable"),
        (["=", "$metrics", 1], "no variable"),
        (["=", "$facts.", 1], "no variable"),
        (["=", "$", 1], "no variable"),
        (["=", {"a": 1}, 1], "neither text, a number"),
        (["=", "$free_ram_mb", float("nan")], "neither text, a number"),
        (["=", "$free_ram_mb", 10**400], "neither text, a number"),
        (["<", "$free_ram_mb", "much"], "cannot order text and numbers"),
        (["<", "$hypervisor_type", "a", 1], "cannot order text and numbers"),
        (["<", "$host", "b"], "by = and in, with texts"),
        (["=", "$host", "$nodename"], "by = and in, with texts"),
        (["=", "$host", 7], "by = and in, with texts"),
        (["=", "$host", "a b"], "is not a resource name"),
        (["=", "$host_ip", "10.0.0"], "'10.0.0' is no IP address"),
        (["or", "$host"], "neither true nor false"),
        (["=", "x" * 256, 1], "longer than 255"),
        (json.dumps(["=", "x" * 10000]), "more than 8192 bytes"),
        (["or", *[["=", 1, 1]] * 50], "more than 100 operators and operands"),
        ("[" * 8000, "nested more than|no JSON"),
    ],
)
def test_what_cannot_be_used_is_refused_with_its_reason(told, why):
    with pytest.raises(errors.InvalidSpec, match=why):
        parse(told)


@pytest.mark.parametrize(("depth", "reads"), [(query.MAX_DEPTH, True), (query.MAX_DEPTH + 1, False)])
def test_depth_is_bounded(depth, reads):
    told = ["=", 1, 1]
    for _ in range(depth - 1):
        told = ["not", told]
    if reads:
        assert parse(told).operator == "not"
    else:
        with pytest.raises(errors.InvalidSpec, match="nested more than 8 deep"):
            parse(told)


def test_a_deep_nest_of_lists_is_refused_and_does_not_end_the_process():
    told = []
    for _ in range(100_000):
        told = [told]
    with pytest.raises(errors.InvalidSpec):
        parse(told)


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
def test_whatever_is_told_is_read_or_refused_with_a_typed_error(told):
    try:
        read = parse(told)
    except errors.InvalidSpec:
        return
    assert isinstance(read, Term)
