# SPDX-License-Identifier: Apache-2.0
"""Which answers of two servers count as the same."""

import json

import pytest

from scheduler_svc.placement.shadow.comparison import MAX_TEXT, difference
from scheduler_svc.placement.shadow.exchanges import ProxiedResponse, SentRequest


def get(target):
    return SentRequest("GET", target, {}, b"")


def answer(document, status=200):
    return ProxiedResponse(status, (), json.dumps(document).encode())


def test_order_in_lists_does_not_count():
    expected = {"resource_providers": [{"uuid": "a", "links": [1, 2]}, {"uuid": "b", "links": []}]}
    actual = {"resource_providers": [{"uuid": "b", "links": []}, {"links": [2, 1], "uuid": "a"}]}
    assert difference(get("/resource_providers"), answer(expected), answer(actual)) is None


def test_lists_are_compared_with_their_repetitions():
    assert difference(get("/x"), answer({"a": [1, 1, 2]}), answer({"a": [1, 2, 2]})) is not None


@pytest.mark.parametrize(
    ("expected", "actual", "text"),
    [
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "/a/b: 1, gantt has 2"),
        ({"a": 1}, {}, "/a: 1, gantt has null"),
        (
            {"a": [1, 2]},
            {"a": [2, 3]},
            "/a: 2 entries, gantt has 2; missing in gantt: ['1'], only in gantt: ['3']",
        ),
        ("text", ["text"], '/: "text", gantt has ["text"]'),
    ],
)
def test_first_difference_is_named_with_both_values(expected, actual, text):
    assert difference(get("/x"), answer(expected), answer(actual)) == text


def test_long_values_are_cut():
    text = difference(get("/x"), answer({"a": "b" * 10_000}), answer({"a": "c" * 10_000}))
    assert text is not None and len(text) < 3 * MAX_TEXT


def test_errors_are_compared_by_their_status():
    assert difference(get("/x"), answer({"errors": 1}, 404), answer({"errors": 2}, 404)) is None
    assert difference(get("/x"), answer({}, 200), answer({"errors": 2}, 404)) == (
        'it answered 200, gantt 404: {"errors": 2}'
    )


def test_bodies_of_writes_are_not_compared():
    request = SentRequest("PUT", "/traits/CUSTOM_A", {}, b"")
    assert difference(request, answer({"generation": 1}), answer({"generation": 2})) is None
    assert difference(request, answer({}, 201), answer({}, 204)) is not None


@pytest.mark.parametrize(
    ("query", "counts", "is_same"),
    [
        ("limit=2", (2, 2), True),
        ("limit=2", (2, 1), False),
        ("limit=3", (2, 2), False),
        ("resources=VCPU:1", (2, 2), False),
    ],
)
def test_limited_candidates_are_compared_by_number(query, counts, is_same):
    expected, actual = (
        answer({"allocation_requests": [f"{side} {number}" for number in range(count)]})
        for side, count in zip(("expected", "actual"), counts, strict=True)
    )
    assert (difference(get(f"/placement/allocation_candidates?{query}"), expected, actual) is None) is is_same


def test_what_is_no_json_is_compared_as_text():
    expected, actual = ProxiedResponse(200, (), b"\xff<html>"), ProxiedResponse(200, (), b"\xff<body>")
    assert difference(get("/"), expected, expected) is None
    assert difference(get("/"), expected, actual) is not None


def test_limited_candidates_differ_from_what_is_no_document():
    request = get("/allocation_candidates?limit=1")
    assert difference(request, answer({"allocation_requests": ["a"]}), ProxiedResponse(200, (), b"<html>")) is not None
    assert difference(request, answer({"allocation_requests": ["a"]}), answer({})) is not None
