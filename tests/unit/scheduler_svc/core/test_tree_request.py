# SPDX-License-Identifier: Apache-2.0
"""Requests as the tree search reads them."""

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.tree_request import total_resources, tree_request
from tests.support.scheduler.hosts import request

GROUPS = (RequestGroup("_a", {"VCPU": 2, "VGPU": 1}), RequestGroup("_b", {"VGPU": 1}))


def test_unsuffixed_group_comes_first_with_all_its_requirements():
    scheduling_request = request(
        {"VCPU": 1},
        required_traits=("R",),
        any_traits=(("A", "B"),),
        forbidden_traits=("F",),
        member_of=(("m1", "m2"),),
        forbidden_aggregates=("f1",),
        in_tree="a/1",
        groups=GROUPS,
    )
    converted = tree_request(scheduling_request)
    own = converted.groups[0]
    assert (own.suffix, own.resources, own.required, own.any_of) == ("", {"VCPU": 1}, ("R",), (("A", "B"),))
    assert (own.forbidden, own.member_of, own.forbidden_aggregates, own.in_tree) == (
        ("F",),
        (("m1", "m2"),),
        ("f1",),
        "a/1",
    )
    assert tuple(converted.groups[1:]) == GROUPS


def test_policies_of_the_whole_request_are_kept():
    converted = tree_request(
        request(groups_policy="isolate", root_required=("R",), root_forbidden=("F",), same_subtree=(("_a", "_b"),))
    )
    assert (converted.root_required, converted.root_forbidden) == (("R",), ("F",))
    assert converted.same_subtree == (("_a", "_b"),)
    assert converted.policy == "isolate"


def test_amounts_are_summed_over_all_groups():
    resources = {"VCPU": 1, "MEMORY_MB": 512}
    assert total_resources(request(resources, groups=GROUPS)) == {"VCPU": 3, "MEMORY_MB": 512, "VGPU": 2}
    assert resources == {"VCPU": 1, "MEMORY_MB": 512}
    assert total_resources(request(resources)) == resources
