# SPDX-License-Identifier: Apache-2.0
"""What bad request groups, topologies, hints and documents are told, before any host is looked at."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors, objects
from rpcapi.model import request

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
def test_what_can_be_served_passes_and_is_left_as_it_is(values):
    asked = spec(**values)
    before = copy.deepcopy(asked.obj_to_primitive())
    request.check_spec(asked)
    assert asked.obj_to_primitive() == before


BAD = [
    ({"groups": []}, "request groups must be a mapping"),
    ({"groups": {"": VGPU}}, "suffix must be 1 to 64"),
    ({"groups": {"a b": VGPU}}, "suffix must be 1 to 64"),
    ({"groups": {"1": 3}}, "group '1' must be a mapping"),
    ({"groups": {"1": VGPU | {"colour": "red"}}}, "group '1' has no 'colour'"),
    ({"groups": {"1": {}}}, "group '1' asks for no resources"),
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
    ({"groups": {str(n): VGPU for n in range(65)}, "groups_policy": "none"}, "65 entries in the request groups"),
    ({"groups": {"1": VGPU}, "groups_policy": "apart"}, "no groups policy 'apart'"),
    ({"groups": {"1": VGPU}, "same_subtree": [["1", "2"]]}, "same_subtree names group '2', which is not asked for"),
    ({"same_subtree": [[]]}, "same_subtree names no group"),
    ({"same_subtree": [[["1"]]]}, "must hold texts"),
    ({"any_traits": [["CUSTOM_A"]], "forbidden_traits": ["CUSTOM_A"]}, "forbids them all"),
    ({"root_required": ["CUSTOM_A"], "root_forbidden": ["CUSTOM_A"]}, "requires and forbids CUSTOM_A of the root"),
    ({"resources": {}, "groups": {"1": VGPU}, "required_traits": ["CUSTOM_A"]}, "gives no resources"),
    ({"member_of": [[]]}, "one of no aggregates"),
    ({"member_of": [["a"]], "forbidden_aggregates": ["a"]}, "all of them are forbidden"),
    ({"member_of": [[1]]}, "must hold texts"),
    ({"forbidden_aggregates": [""]}, "name of an aggregate"),
    ({"image": {"colour": "red"}}, "the image has no 'colour'"),
    ({"image": {"properties": {"hw_numa_nodes": 2}}}, "must be a text, not 2"),
    ({"image": {"properties": {"a": "x" * 40_000}}}, "at most 32768 are carried"),
    ({"extra_specs": {"": "x"}}, "1 to 255 characters"),
    ({"volumes": [{}]}, "needs the pool that it is on"),
    ({"volumes": [{"size_gb": 1}]}, "needs both its size_gb and the group"),
    ({"volumes": [{"size_gb": 0, "group": "1"}], "groups": {"1": VGPU}}, "size_gb of a volume"),
    ({"volumes": [{"size_gb": 1, "group": "1"}]}, "a volume has the group '1', which is not asked for"),
    ({"volumes": [{"pool": 3}]}, "pool of a volume"),
    ({"volumes": [{"colour": "red"}]}, "a volume has no 'colour'"),
    ({"ports": [{"physnet": ""}]}, "physnet of a port"),
    ({"ports": [{"group": "1"}]}, "a port has the group '1', which is not asked for"),
    ({"ports": [{}] * 65}, "65 elements in the ports"),
    ({"service": "compost"}, "no service 'compost'"),
    ({"driver": "a b"}, "driver's name"),
    ({"hints": {"same_host": "me"}}, "takes the uuids of instances, not 'me'"),
    ({"hints": {"different_host": [ONE := "0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4"] * 101}}, "101 instances"),
    ({"hints": {"build_near_host_ip": "here"}}, "is no network"),
    ({"hints": {"build_near_host_ip": "10.0.0.1", "cidr": "/40"}}, "is no network"),
    ({"hints": {"build_near_host_ip": "10.0.0.1", "cidr": "24"}}, "is no network"),
    ({"hints": {"cidr": "/24"}}, "'build_near_host_ip' is missing"),
    ({"hints": {"query": "[what?"}}, "query"),
    (pinned(cells=[]), "has no cells"),
    (pinned(cells=[CELL1]), "cells are numbered from 0"),
    (pinned(cells=[CELL0 | {"cpus": [], "pcpus": []}]), "more cells than cpus"),
    (pinned(cells=[CELL0, CELL1 | {"cpus": [1, 2], "pcpus": [1, 2]}]), "cpu 1 is in two cells"),
    (pinned(cells=[CELL0, CELL1 | {"cpus": [3, 4], "pcpus": [3, 4]}]), "cpu 2 is in no cell"),
    (pinned(cells=[CELL0, CELL1 | {"pcpus": [7]}]), "pins cpus that it does not have"),
    (pinned(cells=[CELL0, CELL1 | {"memory_mb": 0}]), "memory_mb of cell 1"),
    (pinned(cells=[CELL0, CELL1 | {"memory_mb": 2048}]), "'_numa1' must ask for what cell 1"),
    (pinned(cells=[CELL0, CELL1 | {"group": "_numa7"}]), "has the group '_numa7', which is not asked for"),
    (pinned(cells=[CELL0, CELL1 | {"group": "_numa0"}]), "have the same group"),
    (pinned(cells=[CELL0, CELL1 | {"colour": "red"}]), "has no 'colour'"),
    (pinned(cpu_policy="mixed"), "4 of 4 cpus are pinned"),
    (pinned(cpu_policy="shared"), "4 of 4 cpus are pinned"),
    (pinned(cpu_policy=None), "no cpu_policy None"),
    (pinned(thread_policy="knit"), "no thread_policy 'knit'"),
    (pinned(page_size_kb=3), "pages of 3 KiB do not divide"),
    (pinned(page_size_kb=2048), "'_numa0' must ask for what cell 0"),
    (pinned(emulator_threads="isolate"), "'_numa0' must ask for what cell 0"),
    (pinned(devices={"_pci0": "required"}), "binds group '_pci0'"),
    (pinned(devices={"_numa0": "near"}), "no NUMA policy 'near'"),
    (pinned(colour="red"), "has no 'colour'"),
]


@pytest.mark.parametrize(("values", "sentence"), BAD)
def test_what_nobody_can_serve_is_refused_with_the_reason(values, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request.check_spec(spec(**values))
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ({"groups": {"1": {"resources": {"HOVERCRAFT": 1}}}}, errors.UnknownResourceClass),
        ({"groups": {"1": VGPU | {"any_of": [["HW_NO_SUCH"]]}}}, errors.UnknownTrait),
        ({"any_traits": [["HW_NO_SUCH"]]}, errors.UnknownTrait),
        ({"root_forbidden": ["HW_NO_SUCH"]}, errors.UnknownTrait),
        ({"groups": {"1": VGPU | {"in_tree": "a b"}}}, errors.InvalidName),
        ({"in_tree": ""}, errors.InvalidName),
    ],
)
def test_unknown_things_keep_their_own_errors(values, kind):
    with pytest.raises(kind):
        request.check_spec(spec(**values))


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
def test_garbage_raises_nothing_but_typed_errors(values):
    try:
        asked = objects.RequestSpec.of(**{"resources": {"VCPU": 1}} | values)
        request.check_spec(asked)
    except errors.InvalidRequest as refused:
        assert refused.sentence
