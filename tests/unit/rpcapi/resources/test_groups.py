# SPDX-License-Identifier: Apache-2.0
"""Request groups and the mappings that request specs carry."""

import pytest

from rpcapi.resources.groups import RequestGroup, freeze, thaw

FULL = RequestGroup(
    "1",
    {"VGPU": 2},
    ("CUSTOM_A",),
    (("CUSTOM_B", "CUSTOM_C"),),
    ("CUSTOM_D",),
    (("rack1", "rack2"),),
    ("rack3",),
    "h/n",
)


@pytest.mark.parametrize("group", [RequestGroup("1"), RequestGroup("1", {"VGPU": 1}), FULL])
def test_group_is_read_back_from_its_mapping(group):
    assert RequestGroup.from_dict("1", group.as_dict()) == group


def test_mapping_omits_empty_fields():
    assert RequestGroup("1", {"VGPU": 1}).as_dict() == {"resources": {"VGPU": 1}}
    assert RequestGroup("1").as_dict() == {}


def test_mapping_does_not_share_the_amounts_of_the_group():
    amounts = FULL.as_dict()["resources"]
    amounts["VGPU"] = 9
    assert FULL.resources == {"VGPU": 2}


def test_frozen_lists_are_tuples_and_thaw_to_lists():
    assert freeze([["a", "b"], [], "c"]) == (("a", "b"), (), "c")
    assert thaw(freeze([["a", "b"], [], "c"])) == [["a", "b"], [], "c"]
    assert freeze({"a": ["b"]}) == {"a": ["b"]}
