# SPDX-License-Identifier: Apache-2.0
"""Validation of request specs: every part is checked, and arbitrary values raise typed errors only."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rpcapi import errors, objects
from rpcapi.objects import request_validation
from rpcapi.resources.inventory import MAX_AMOUNT

VGPU = {"resources": {"VGPU": 1}}
CELL = {"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 1024}
PINNED = {
    "groups": {"_numa0": {"resources": {"PCPU": 2, "MEMORY_MB": 1024}}},
    "numa": {"cells": [CELL], "cpu_policy": "dedicated", "thread_policy": None, "page_size_kb": None},
    "resources": {"DISK_GB": 1},
}


def spec(**values):
    return objects.RequestSpec.of(**({"resources": {"VCPU": 1, "MEMORY_MB": 512}} | copy.deepcopy(values)))


GOOD = [
    {},
    {"resources": {"CUSTOM_GOLD_2": MAX_AMOUNT}},
    {"required_traits": ["HW_CPU_X86_AVX2", "CUSTOM_RACK"], "forbidden_traits": ["STORAGE_DISK_SSD"]},
    {"availability_zone": "zone 1", "flavor": "m1.small"},
    {"force_hosts": ["host1", "host2/node1"], "ignore_hosts": ["host2/node2"]},
    {"hints": {"query": [">=", "$free_ram_mb", 1024]}},
    {"group_id": "web", "group_policy": "anti-affinity", "group_max_per_host": 3},
    {"groups": {"1": VGPU}, "resources": {}},
    {"groups": {"1": VGPU, "near": {}}, "groups_policy": "none", "same_subtree": [["1", "near"]]},
    {"any_traits": [["CUSTOM_A", "CUSTOM_B"]], "forbidden_traits": ["CUSTOM_A"]},
    {"member_of": [["rack1", "rack2"]], "forbidden_aggregates": ["rack2"], "in_tree": "host/numa0"},
    {"root_required": ["CUSTOM_A"], "forbidden_traits": ["CUSTOM_A"]},
    {"image": {"id": "cirros", "properties": {"hw_architecture": "x86_64"}}, "extra_specs": {"hw:boot_menu": "true"}},
    {"service": "volume", "driver": "solver"},
    {"volumes": [{"pool": "p1"}, {"size_gb": 1, "group": "1"}], "ports": [{"physnet": "net0"}], "groups": {"1": VGPU}},
    PINNED,
]


@pytest.mark.parametrize("values", GOOD)
def test_valid_spec_passes_and_is_not_changed(values):
    checked = spec(**values)
    before = copy.deepcopy(checked.obj_to_primitive())
    request_validation.check_spec(checked)
    assert checked.obj_to_primitive() == before


# One case for each field: the tests of rpcapi.validation have the others.
BAD = [
    ({"resources": {}}, "1 to 32 resource classes, got 0"),
    ({"resources": {"VCPU": 0}}, "amount of VCPU must be an integer from 1"),
    ({"required_traits": ["CUSTOM_A"], "forbidden_traits": ["CUSTOM_A"]}, "requires and forbids"),
    ({"any_traits": [["CUSTOM_A"]], "forbidden_traits": ["CUSTOM_A"]}, "but forbids all"),
    ({"root_required": ["CUSTOM_A"], "root_forbidden": ["CUSTOM_A"]}, "requires and forbids CUSTOM_A of the root"),
    ({"resources": {}, "groups": {"1": VGPU}, "required_traits": ["CUSTOM_A"]}, "has traits but no resources"),
    ({"member_of": [["a"]], "forbidden_aggregates": ["a"]}, "but all are forbidden"),
    ({"forbidden_aggregates": [""]}, "name of an aggregate"),
    ({"groups": []}, "request groups must be a mapping"),
    ({"groups_policy": "apart"}, "unknown groups policy 'apart'"),
    ({"same_subtree": [[]]}, "same_subtree names no group"),
    ({"availability_zone": ""}, "availability zone must be 1 to 255"),
    ({"flavor": "f" * 256}, "flavor must be"),
    ({"force_hosts": ["a"], "ignore_hosts": ["a"]}, "every host in force_hosts"),
    ({"hints": ["a"]}, "hints must be a mapping"),
    ({"consumer_type": "instance"}, "consumer type"),
    ({"group_id": "g"}, "both its id and its policy"),
    ({"group_id": "g", "group_policy": "anti-affinity", "group_max_per_host": 0}, "max per host"),
    ({"image": {"colour": "red"}}, "the image has an unknown key 'colour'"),
    ({"extra_specs": {"": "x"}}, "1 to 255 characters"),
    ({"volumes": [{}]}, "needs the name of its pool"),
    ({"ports": [{"physnet": ""}]}, "physnet of a port"),
    ({"service": "compost"}, "unknown service 'compost'"),
    ({"driver": "a b"}, "driver name"),
    ({"numa": {"cells": []}}, "has no cells"),
    (PINNED | {"groups": {"_numa0": VGPU}}, "'_numa0' must request what cell 0"),
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


@pytest.mark.parametrize("value", [None, {}, "spec", objects.Selections])
def test_value_that_is_not_a_spec_is_malformed(value):
    with pytest.raises(errors.MalformedObject, match="RequestSpec"):
        request_validation.check_spec(value)


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
