# SPDX-License-Identifier: Apache-2.0
"""Values of query parameters, by microversion."""

import uuid
from urllib.parse import urlencode

import pytest

from scheduler_svc.placement.http import query_parameters
from scheduler_svc.placement.http.messages import ApiUser, Request
from scheduler_svc.placement.model.problems import Problem

A, B = (str(uuid.UUID(digit * 32)) for digit in "ab")


def request(minor, *parameters):
    environ = {"QUERY_STRING": urlencode(parameters)}
    return Request(environ, minor, ApiUser(None, None, ()), "req-1")


@pytest.mark.parametrize(
    ("text", "amounts"),
    [("VCPU:2", {"VCPU": 2}), ("VCPU:2,MEMORY_MB:1024", {"VCPU": 2, "MEMORY_MB": 1024}), ("A: 3", {"A": 3})],
)
def test_resources(text, amounts):
    assert query_parameters.resources(text) == amounts


@pytest.mark.parametrize(
    "text", ["", " ", "VCPU", "VCPU:", "VCPU:x", "VCPU:0", "VCPU:-1", "VCPU:+-1", "VCPU:1:2", "A:1,", "A:٣"]
)
def test_malformed_resources_are_refused(text):
    with pytest.raises(Problem) as refusal:
        query_parameters.resources(text)
    assert refusal.value.status == 400


@pytest.mark.parametrize(
    ("minor", "values", "expected"),
    [
        (18, ["A,B"], ([{"A"}, {"B"}], set())),
        (18, ["A", "B"], ([{"B"}], set())),
        (22, ["A, !B"], ([{"A"}], {"B"})),
        (22, ["!!!A"], ([], {"A"})),
        (39, ["A", "in:B,C", "!D"], ([{"A"}, {"B", "C"}], {"D"})),
    ],
)
def test_traits(minor, values, expected):
    assert query_parameters.traits(request(minor, *(("required", value) for value in values))) == expected


@pytest.mark.parametrize(
    ("minor", "value"), [(18, ""), (18, "A,,B"), (21, "!A"), (38, "in:A"), (39, "in:A,"), (39, "in:A,!B"), (39, "!")]
)
def test_malformed_traits_are_refused(minor, value):
    with pytest.raises(Problem, match="Invalid query string parameters"):
        query_parameters.traits(request(minor, ("required", value)))


@pytest.mark.parametrize(
    ("minor", "values", "expected"),
    [
        (3, [A], ([{A}], set())),
        (3, [A.upper()], ([{A}], set())),
        (3, [A.replace("-", "")], ([{A}], set())),
        (3, [f"in:{A},{B}"], ([{A, B}], set())),
        (24, [A, B], ([{A}, {B}], set())),
        (32, [f"!{A}", B], ([{B}], {A})),
        (32, [f"!in:{A},{B}"], ([], {A, B})),
    ],
)
def test_aggregates(minor, values, expected):
    assert query_parameters.aggregates(request(minor, *(("member_of", value) for value in values))) == expected


@pytest.mark.parametrize(
    ("minor", "values"),
    [
        (3, ["none"]),
        (3, [""]),
        (3, [f"{A},{B}"]),
        (23, [A, B]),
        (31, [f"!{A}"]),
        (31, [f"!in:{A},{B}"]),
        (32, ["!none"]),
    ],
)
def test_malformed_aggregates_are_refused(minor, values):
    with pytest.raises(Problem) as refusal:
        query_parameters.aggregates(request(minor, *(("member_of", value) for value in values)))
    assert refusal.value.status == 400


def test_suffix_selects_the_group():
    parameters = request(39, ("required", "A"), ("required_DISK", "B"), ("member_of_DISK", A))
    assert query_parameters.traits(parameters, "_DISK") == ([{"B"}], set())
    assert query_parameters.aggregates(parameters, "_DISK") == ([{A}], set())
