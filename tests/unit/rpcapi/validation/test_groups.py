# SPDX-License-Identifier: Apache-2.0
"""Validation of request groups, groups policy and same_subtree."""

import pytest

from rpcapi import errors
from rpcapi.validation import groups

VGPU = {"resources": {"VGPU": 1}}
EVERYTHING = {
    "required": ["CUSTOM_A"],
    "any_of": [["CUSTOM_B", "CUSTOM_C"]],
    "forbidden": ["CUSTOM_D"],
    "member_of": [["rack1", "rack2"]],
    "forbidden_aggregates": ["rack3"],
    "in_tree": "h/n",
}


@pytest.mark.parametrize(
    ("request_groups", "policy", "same_subtree"),
    [
        ({}, None, []),
        ({"1": VGPU}, None, []),
        ({"1": VGPU | EVERYTHING}, None, []),
        ({"1": VGPU, "2": VGPU}, "isolate", []),
        ({"1": VGPU, "near": {}}, "none", [["1", "near"]]),
    ],
)
def test_valid_groups_pass(request_groups, policy, same_subtree):
    groups.check(request_groups, policy, same_subtree)


@pytest.mark.parametrize(
    ("request_groups", "sentence"),
    [
        ([], "request groups must be a mapping"),
        ({"": VGPU}, "suffix must be 1 to 64"),
        ({"a b": VGPU}, "suffix must be 1 to 64"),
        ({"1": 3}, "group '1' must be a mapping"),
        ({"1": VGPU | {"colour": "red"}}, "group '1' has an unknown key 'colour'"),
        ({"1": {}}, "group '1' requests no resources"),
        ({"1": {"resources": {"VGPU": True}}}, "amount of VGPU of group '1'"),
        ({"1": VGPU | {"required": "CUSTOM_A"}}, "required traits of group '1' must be a list"),
        (
            {"1": VGPU | {"required": ["CUSTOM_A"], "forbidden": ["CUSTOM_A"]}},
            "requires and forbids CUSTOM_A of group '1'",
        ),
        ({"1": VGPU | {"member_of": [[]]}}, "a list in member_of of group '1' is empty"),
        ({"1": VGPU | {"in_tree": 7}}, "in_tree of group '1'"),
        ({"1": VGPU, "2": VGPU}, "2 request groups need a groups policy"),
        ({str(n): VGPU for n in range(65)}, "the request groups may contain at most 64 entries, got 65"),
    ],
)
def test_invalid_group_is_refused_with_the_reason(request_groups, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        groups.check(request_groups, None, [])
    assert sentence in caught.value.sentence


def test_unknown_policy_is_refused():
    with pytest.raises(errors.InvalidSpec, match="unknown groups policy 'apart'; known: none, isolate"):
        groups.check({"1": VGPU}, "apart", [])


@pytest.mark.parametrize(
    ("same_subtree", "sentence"),
    [
        ("1", "same_subtree must be a list"),
        ([["1", "2"]], "same_subtree names group '2', which is not in the request"),
        ([[]], "same_subtree names no group"),
        ([[["1"]]], "must contain strings only"),
        ([["1"]] * 65, "same_subtree may contain at most 64 elements"),
    ],
)
def test_invalid_subtree_is_refused_with_the_reason(same_subtree, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        groups.check({"1": VGPU}, None, same_subtree)
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("fields", "error_class"),
    [
        ({"resources": {"HOVERCRAFT": 1}}, errors.UnknownResourceClass),
        (VGPU | {"any_of": [["HW_NO_SUCH"]]}, errors.UnknownTrait),
        (VGPU | {"in_tree": "a b"}, errors.InvalidName),
    ],
)
def test_unknown_names_raise_their_specific_error(fields, error_class):
    with pytest.raises(error_class):
        groups.check({"1": fields}, None, [])
