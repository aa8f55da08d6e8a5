# SPDX-License-Identifier: Apache-2.0
"""Validation of request groups, topologies, hints and documents of a request spec."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors, objects
from rpcapi.objects import request_validation

VGPU = {"resources": {"VGPU": 1}}
CELL0 = {"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 1024}
CELL1 = {"id": 1, "group": "_numa1", "cpus": [2, 3], "pcpus": [2, 3], "memory_mb": 1024}
PINNED = {
    "groups": {suffix: {"resources": {"PCPU": 2, "MEMORY_MB": 1024}} for suffix in ("_numa0", "_numa1")},
    "groups_policy": "isolate",
    "numa": {"cells": [CELL0, CELL1], "cpu_policy": "dedicated", "thread_policy": None, "page_size_kb": None},
    "resources": {"DISK_GB": 1},
}


def spec(**values):
    return objects.RequestSpec.of(**({"resources": {"VCPU": 1, "MEMORY_MB": 512}} | copy.deepcopy(values)))


def pinned(cells=(CELL0, CELL1), **numa):
    return PINNED | {"numa": PINNED["numa"] | {"cells": list(cells)} | numa}


GOOD = [
    {"groups": {"1": VGPU}},
    {"groups": {"1": VGPU}, "resources": {}},
    {"groups": {"1": VGPU, "2": VGPU}, "groups_policy": "isolate"},
    {"groups": {"1": VGPU, "near": {}}, "groups_policy": "none", "same_subtree": [["1", "near"]]},
    {"groups": {"1": VGPU | {"required": ["CUSTOM_A"], "any_of": [["CUSTOM_B", "CUSTOM_C"]], "in_tree": "h/n"}}},
    {"any_traits": [["CUSTOM_A", "CUSTOM_B"]], "forbidden_traits": ["CUSTOM_A"]},
    {"member_of": [["rack1", "rack2"]], "forbidden_aggregates": ["rack2"], "in_tree": "host/numa0"},
    {"root_required": ["CUSTOM_A"], "forbidden_traits": ["CUSTOM_A"]},
    {"image": {"id": "cirros", "properties": {"hw_architecture": "x86_64"}}, "extra_specs": {"hw:boot_menu": "true"}},
    {"service": "volume", "driver": "solver"},
    {"volumes": [{"pool": "p1"}, {"size_gb": 1, "group": "1"}], "ports": [{"physnet": "net0"}], "groups": {"1": VGPU}},
    {"hints": {"same_host": "0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4", "anything": {"of": ["a", "plugin"]}}},
    {"hints": {"build_near_host_ip": ["10.0.0.1"], "cidr": "/16"}},
    PINNED,
    pinned(thread_policy="require", emulator_threads="share"),
    pinned(devices={"_numa1": "required"}),
]


@pytest.mark.parametrize("values", GOOD)
def test_valid_spec_passes_and_is_not_changed(values):
    checked = spec(**values)
    before = copy.deepcopy(checked.obj_to_primitive())
    request_validation.check_spec(checked)
    assert checked.obj_to_primitive() == before


BAD = [
    ({"groups": []}, "request groups must be a mapping"),
    ({"groups": {"": VGPU}}, "suffix must be 1 to 64"),
    ({"groups": {"a b": VGPU}}, "suffix must be 1 to 64"),
    ({"groups": {"1": 3}}, "group '1' must be a mapping"),
    ({"groups": {"1": VGPU | {"colour": "red"}}}, "group '1' has an unknown key 'colour'"),
    ({"groups": {"1": {}}}, "group '1' requests no resources"),
    ({"groups": {"1": {"resources": {"VGPU": True}}}}, "amount of VGPU of group '1'"),
    ({"groups": {"1": {"resources": {"VGPU": 1.5}}}}, "amount of VGPU of group '1'"),
    ({"groups": {"1": VGPU | {"required": "CUSTOM_A"}}}, "required traits of group '1' must be a list"),
    (
        {"groups": {"1": VGPU | {"required": ["CUSTOM_A"], "forbidden": ["CUSTOM_A"]}}},
        "requires and forbids CUSTOM_A of group '1'",
    ),
    (
        {"groups": {"1": VGPU | {"any_of": [["CUSTOM_A", "CUSTOM_B"]], "forbidden": ["CUSTOM_B", "CUSTOM_A"]}}},
        "any of CUSTOM_A, CUSTOM_B of group '1' and forbids them all",
    ),
    ({"groups": {"1": VGPU | {"any_of": [[]]}}}, "any-of list of traits of group '1' is empty"),
    ({"groups": {"1": VGPU | {"in_tree": 7}}}, "in_tree of group '1'"),
    ({"groups": {"1": VGPU, "2": VGPU}}, "2 request groups need a groups policy"),
    (
        {"groups": {str(n): VGPU for n in range(65)}, "groups_policy": "none"},
        "the request groups may contain at most 64 entries, got 65",
    ),
    ({"groups": {"1": VGPU}, "groups_policy": "apart"}, "unknown groups policy 'apart'"),
    (
        {"groups": {"1": VGPU}, "same_subtree": [["1", "2"]]},
        "same_subtree names group '2', which the request does not contain",
    ),
    ({"same_subtree": [[]]}, "same_subtree names no group"),
    ({"same_subtree": [[["1"]]]}, "must contain strings only"),
    ({"any_traits": [["CUSTOM_A"]], "forbidden_traits": ["CUSTOM_A"]}, "forbids them all"),
    ({"root_required": ["CUSTOM_A"], "root_forbidden": ["CUSTOM_A"]}, "requires and forbids CUSTOM_A of the root"),
    ({"resources": {}, "groups": {"1": VGPU}, "required_traits": ["CUSTOM_A"]}, "has traits but no resources"),
    ({"member_of": [[]]}, "must name at least one aggregate"),
    ({"member_of": [["a"]], "forbidden_aggregates": ["a"]}, "all of which are forbidden"),
    ({"member_of": [[1]]}, "must contain strings only"),
    ({"forbidden_aggregates": [""]}, "name of an aggregate"),
    ({"image": {"colour": "red"}}, "the image has an unknown key 'colour'"),
    ({"image": {"properties": {"hw_numa_nodes": 2}}}, "must be a string, not 2"),
    ({"image": {"properties": {"a": "x" * 40_000}}}, "at most 32768 bytes"),
    ({"extra_specs": {"": "x"}}, "1 to 255 characters"),
    ({"volumes": [{}]}, "needs the name of its pool"),
    ({"volumes": [{"size_gb": 1}]}, "needs both size_gb and the request group"),
    ({"volumes": [{"size_gb": 0, "group": "1"}], "groups": {"1": VGPU}}, "size_gb of a volume"),
    ({"volumes": [{"size_gb": 1, "group": "1"}]}, "a volume has the group '1', which the request does not contain"),
    ({"volumes": [{"pool": 3}]}, "pool of a volume"),
    ({"volumes": [{"colour": "red"}]}, "a volume has an unknown key 'colour'"),
    ({"ports": [{"physnet": ""}]}, "physnet of a port"),
    ({"ports": [{"group": "1"}]}, "a port has the group '1', which the request does not contain"),
    ({"ports": [{}] * 65}, "the ports may contain at most 64 elements, got 65"),
    ({"service": "compost"}, "unknown service 'compost'"),
    ({"driver": "a b"}, "driver name"),
    ({"hints": {"same_host": "me"}}, "must contain uuids of instances, not 'me'"),
    (
        {"hints": {"different_host": [SOME_UUID := "0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4"] * 101}},
        "at most 100 instances, got 101",
    ),
    ({"hints": {"build_near_host_ip": "here"}}, "is not a network"),
    ({"hints": {"build_near_host_ip": "10.0.0.1", "cidr": "/40"}}, "is not a network"),
    ({"hints": {"build_near_host_ip": "10.0.0.1", "cidr": "24"}}, "is not a network"),
    ({"hints": {"cidr": "/24"}}, "'build_near_host_ip', which is missing"),
    ({"hints": {"query": "[what?"}}, "query"),
    (pinned(cells=[]), "has no cells"),
    (pinned(cells=[CELL1]), "cells are numbered from 0"),
    (pinned(cells=[CELL0 | {"cpus": [], "pcpus": []}]), "may not have more cells than cpus"),
    (pinned(cells=[CELL0, CELL1 | {"cpus": [1, 2], "pcpus": [1, 2]}]), "cpu 1 is in two cells"),
    (pinned(cells=[CELL0, CELL1 | {"cpus": [3, 4], "pcpus": [3, 4]}]), "cpu 2 is in no cell"),
    (pinned(cells=[CELL0, CELL1 | {"pcpus": [7]}]), "pins cpus that are not in its list"),
    (pinned(cells=[CELL0, CELL1 | {"memory_mb": 0}]), "memory_mb of cell 1"),
    (pinned(cells=[CELL0, CELL1 | {"memory_mb": 2048}]), "'_numa1' must request what cell 1"),
    (pinned(cells=[CELL0, CELL1 | {"group": "_numa7"}]), "has the group '_numa7', which the request does not contain"),
    (pinned(cells=[CELL0, CELL1 | {"group": "_numa0"}]), "have the same group"),
    (pinned(cells=[CELL0, CELL1 | {"colour": "red"}]), "has an unknown key 'colour'"),
    (pinned(cpu_policy="mixed"), "4 of 4 cpus are pinned"),
    (pinned(cpu_policy="shared"), "4 of 4 cpus are pinned"),
    (pinned(cpu_policy=None), "unknown cpu_policy None"),
    (pinned(thread_policy="knit"), "unknown thread_policy 'knit'"),
    (pinned(page_size_kb=3), "pages of 3 KiB do not divide"),
    (pinned(page_size_kb=2048), "'_numa0' must request what cell 0"),
    (pinned(emulator_threads="isolate"), "'_numa0' must request what cell 0"),
    (pinned(devices={"_pci0": "required"}), "names group '_pci0'"),
    (pinned(devices={"_numa0": "near"}), "unknown NUMA policy 'near'"),
    (pinned(colour="red"), "has an unknown key 'colour'"),
]


@pytest.mark.parametrize(("values", "sentence"), BAD)
def test_invalid_spec_is_refused_with_the_reason(values, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request_validation.check_spec(spec(**values))
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("values", "error_class"),
    [
        ({"groups": {"1": {"resources": {"HOVERCRAFT": 1}}}}, errors.UnknownResourceClass),
        ({"groups": {"1": VGPU | {"any_of": [["HW_NO_SUCH"]]}}}, errors.UnknownTrait),
        ({"any_traits": [["HW_NO_SUCH"]]}, errors.UnknownTrait),
        ({"root_forbidden": ["HW_NO_SUCH"]}, errors.UnknownTrait),
        ({"groups": {"1": VGPU | {"in_tree": "a b"}}}, errors.InvalidName),
        ({"in_tree": ""}, errors.InvalidName),
    ],
)
def test_unknown_names_raise_their_specific_error(values, error_class):
    with pytest.raises(error_class):
        request_validation.check_spec(spec(**values))


WORDS = st.sampled_from(
    ["VCPU", "VGPU", "CUSTOM_A", "1", "_numa0", "resources", "required", "any_of", "cells", "id", "group", "cpus"]
) | st.sampled_from(["pcpus", "memory_mb", "cpu_policy", "dedicated", "properties", "query", "same_host", "cidr", ""])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS | st.text(max_size=4), inner, max_size=5),
    max_leaves=12,
)
LISTS = st.lists(st.lists(JSON, max_size=3), max_size=3)
FIELDS = {
    "resources": st.dictionaries(WORDS, st.integers(), max_size=3),
    "required_traits": st.lists(WORDS, max_size=3),
    "hints": JSON,
    "any_traits": LISTS,
    "member_of": LISTS,
    "in_tree": st.none() | st.text(),
    "groups": JSON,
    "groups_policy": st.none() | st.sampled_from(["none", "isolate", "x"]),
    "same_subtree": LISTS,
    "numa": JSON,
    "image": JSON,
    "extra_specs": JSON,
    "service": st.text(max_size=9) | st.just("compute"),
    "driver": st.none() | st.text(max_size=9),
}


@settings(max_examples=300, deadline=None)
@given(st.fixed_dictionaries({}, optional=FIELDS))
def test_arbitrary_values_raise_only_typed_errors(values):
    try:
        spec = objects.RequestSpec.of(**{"resources": {"VCPU": 1}} | values)
        request_validation.check_spec(spec)
    except errors.InvalidRequest as error:
        assert error.sentence
