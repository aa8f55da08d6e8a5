# SPDX-License-Identifier: Apache-2.0
"""Grouping of a batch's identical calls."""

import pytest

from rpcapi.resources.claims import GroupPolicy
from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.drivers.driver import RankRequest
from scheduler_svc.core.drivers.solver import identical_calls
from scheduler_svc.core.records import ClaimGroup
from scheduler_svc.core.request import SchedulingRequest


def numbered_call(number, vcpus=1, count=1, **fields):
    return RankRequest(SchedulingRequest(f"req-{number}", {"VCPU": vcpus}, **fields), count, 100 + number)


def affinity(name):
    return ClaimGroup(name, GroupPolicy.AFFINITY)


def test_calls_that_differ_only_in_id_and_size_are_one_kind():
    kinds, unbatched = identical_calls.group_identical(
        [numbered_call(0), numbered_call(1, 2), numbered_call(2, count=3), numbered_call(3, project="p")]
    )
    assert [(kind.calls, kind.sizes, kind.seed) for kind in kinds] == [
        ((0, 2), (1, 3), 100),
        ((1,), (1,), 101),
        ((3,), (1,), 103),
    ]
    assert not unbatched


def test_affinity_calls_are_placements_of_all_their_instances():
    kinds, unbatched = identical_calls.group_identical(
        [numbered_call(0, 2, 3, group=affinity("g")), numbered_call(1, 2, 3, group=affinity("h"))]
    )
    assert [(kind.calls, kind.sizes, kind.unit, kind.amounts) for kind in kinds] == [
        ((0,), (1,), 3, {"VCPU": 6}),
        ((1,), (1,), 3, {"VCPU": 6}),
    ]
    assert not unbatched


def test_second_call_of_an_affinity_group_is_decided_after_the_first():
    kinds, unbatched = identical_calls.group_identical(
        [numbered_call(0, group=affinity("g")), numbered_call(1, group=affinity("g"))]
    )
    assert [kind.calls for kind in kinds] == [(0,)]
    assert unbatched == {identical_calls.REASON_SAME_GROUP: 1}


def test_calls_of_an_anti_affinity_group_are_one_kind():
    group = ClaimGroup("g", GroupPolicy.ANTI_AFFINITY)
    kinds, unbatched = identical_calls.group_identical([numbered_call(0, group=group), numbered_call(1, group=group)])
    assert [(kind.calls, kind.unit) for kind in kinds] == [((0, 1), 1)]
    assert not unbatched


@pytest.mark.parametrize(
    "fields",
    [
        {"groups": (RequestGroup("_gpu", {"VGPU": 1}),)},
        {"numa": {"cells": [{"id": 0}]}},
        {"same_subtree": (("_a", "_b"),)},
        {"volumes": ({"size_gb": 1},)},
        {"ports": ({"physical_network": "a"},)},
    ],
)
def test_calls_for_parts_of_a_host_are_counted_and_left_out(fields):
    assert not identical_calls.is_whole(numbered_call(0, **fields).request)
    kinds, unbatched = identical_calls.group_identical([numbered_call(0, **fields), numbered_call(1)])
    assert [kind.calls for kind in kinds] == [(1,)]
    assert unbatched == {identical_calls.REASON_PARTS: 1}


def test_traits_and_zones_do_not_make_a_request_one_for_parts():
    assert identical_calls.is_whole(
        numbered_call(0, required_traits=("HW_CPU_X86_AVX2",), availability_zone="az1").request
    )
