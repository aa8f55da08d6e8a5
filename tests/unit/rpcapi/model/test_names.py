# SPDX-License-Identifier: Apache-2.0
"""Resource names: a string, or Nova's pair."""

import pytest

from rpcapi import errors
from rpcapi.model import names


@pytest.mark.parametrize(
    ("name", "canonical"),
    [("host", "host"), (("host", "node"), "host/node"), (["host", "a/b"], "host/a/b"), ("host/node", "host/node")],
)
def test_a_name_has_one_canonical_form_which_is_its_own(name, canonical):
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
def test_anything_else_is_no_name(name):
    with pytest.raises(errors.InvalidName):
        names.canonical(name)


def test_the_longest_name_passes():
    assert len(names.canonical(("a" * 127, "b" * 127))) == names.MAX_LENGTH


@pytest.mark.parametrize(
    ("name", "wanted", "meant"),
    [
        ("host/node", "host/node", True),
        ("host/node", "host", True),
        ("host", "host", True),
        ("host", "host/node", False),
        ("host/node1", "host/node", False),
        ("host1/node", "host", False),
    ],
)
def test_a_wanted_name_means_the_resource_or_every_node_of_the_host(name, wanted, meant):
    assert names.matches(name, wanted) is meant
