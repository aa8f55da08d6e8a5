# SPDX-License-Identifier: Apache-2.0
"""Resource names: a string, or Nova's (host, node) pair; patterns of service hosts."""

import pytest

from rpcapi import errors
from rpcapi.resources import names
from rpcapi.resources.names import expand_pattern


@pytest.mark.parametrize(
    ("name", "canonical"),
    [("host", "host"), (("host", "node"), "host/node"), (["host", "a/b"], "host/a/b"), ("host/node", "host/node")],
)
def test_canonical_form_of_a_canonical_name_is_itself(name, canonical):
    assert names.canonical(name) == canonical
    assert names.canonical(canonical) == canonical


@pytest.mark.parametrize(
    "name",
    [
        *("", "/", "a/", "/a", "a b", "a|b", "a\n", "a\x00", "a" * 256),
        *(("a", ""), ("", "b"), ("a/b", "c"), ("a",), ("a", "b", "c"), ("a", 3), ("a" * 200, "b" * 100)),
        *(7, None, {"a": "b"}),
    ],
)
def test_invalid_name_is_refused(name):
    with pytest.raises(errors.InvalidName):
        names.canonical(name)


def test_name_of_maximum_length_passes():
    assert len(names.canonical(("a" * 127, "b" * 127))) == names.MAX_LENGTH


@pytest.mark.parametrize(
    ("name", "pattern", "expected"),
    [
        ("host/node", "host/node", True),
        ("host/node", "host", True),
        ("host", "host", True),
        ("host", "host/node", False),
        ("host/node1", "host/node", False),
        ("host1/node", "host", False),
    ],
)
def test_pattern_matches_the_resource_or_every_node_of_the_host(name, pattern, expected):
    assert names.matches(name, pattern) is expected


@pytest.mark.parametrize(("name", "expected"), [("H1", "h1"), ("H1/Node", "h1/Node"), ("h1/n", "h1/n")])
def test_case_of_the_service_host_alone_is_folded(name, expected):
    assert names.fold(name) == expected


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("alpha", ["alpha"]),
        ("node[8-10]", ["node8", "node9", "node10"]),
        ("node[08-10]", ["node08", "node09", "node10"]),
        ("r[1-2]n[0-1].site", ["r1n0.site", "r1n1.site", "r2n0.site", "r2n1.site"]),
    ],
)
def test_patterns_expand_to_ranges(pattern: str, names: list[str]) -> None:
    assert expand_pattern(pattern) == names


@pytest.mark.parametrize("pattern", ["a[3-2]", "a[0-100000]"])
def test_empty_and_huge_ranges_are_refused(pattern: str) -> None:
    with pytest.raises(errors.BadConfiguration, match="empty or too long"):
        expand_pattern(pattern)
