# SPDX-License-Identifier: Apache-2.0
"""Validation of hosts, aggregates and provider trees that a request names."""

import pytest

from rpcapi import errors
from rpcapi.validation import places


def test_valid_places_pass():
    places.check_hosts(["host2/node2"], ["host1", "host2/node1"])
    places.check_hosts(["host1"], [])
    places.check_aggregates([["rack1", "rack2"]], ["rack2"])
    places.check_tree("host/numa0")
    places.check_tree(None)


@pytest.mark.parametrize(
    ("ignored", "forced", "error_class", "sentence"),
    [
        (["a|b"], [], errors.InvalidName, "'|'"),
        ([], [""], errors.InvalidName, "empty"),
        ([], [f"h{n}" for n in range(1001)], errors.InvalidSpec, "force_hosts may contain at most 1000"),
        ([f"h{n}" for n in range(1001)], [], errors.InvalidSpec, "ignore_hosts may contain at most 1000"),
        (["a", "b"], ["a/n1", "b"], errors.InvalidSpec, "every host in force_hosts"),
    ],
)
def test_invalid_hosts_are_refused_with_the_reason(ignored, forced, error_class, sentence):
    with pytest.raises(error_class) as caught:
        places.check_hosts(ignored, forced)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("member_of", "forbidden", "sentence"),
    [
        ([[]], [], "must name at least one aggregate"),
        ([["a", "b"]], ["b", "a"], "member_of of group '1' requires one of a, b, but all are forbidden"),
        ([[1]], [], "must contain strings only"),
        ("a", [], "must be a list"),
        ([], [""], "name of an aggregate"),
        ([["a", " b"]], [], "name of an aggregate"),
    ],
)
def test_invalid_aggregates_are_refused_with_the_reason(member_of, forbidden, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        places.check_aggregates(member_of, forbidden, " of group '1'")
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("in_tree", "error_class"),
    [(7, errors.InvalidSpec), (["h", "n"], errors.InvalidSpec), ("", errors.InvalidName), ("a b", errors.InvalidName)],
)
def test_tree_must_be_a_resource_name(in_tree, error_class):
    with pytest.raises(error_class):
        places.check_tree(in_tree)


@pytest.mark.parametrize(
    "destination",
    [{}, {"host": "h"}, {"host": "h/n", "partition": "west"}, {"partition": "west", "allow_cross_cell_move": True}],
)
def test_valid_destinations_pass(destination):
    places.check_destination(destination)


@pytest.mark.parametrize(
    ("destination", "error_class", "sentence"),
    [
        (["h"], errors.InvalidSpec, "the requested destination must be"),
        ({"cell": "west"}, errors.InvalidSpec, "the requested destination"),
        ({"host": "a|b"}, errors.InvalidName, "a|b"),
        ({"partition": 3}, errors.InvalidSpec, "partition of the requested destination"),
        ({"allow_cross_cell_move": "yes"}, errors.InvalidSpec, "must be a boolean"),
    ],
)
def test_invalid_destinations_are_refused_with_the_reason(destination, error_class, sentence):
    with pytest.raises(error_class, match=sentence):
        places.check_destination(destination)
