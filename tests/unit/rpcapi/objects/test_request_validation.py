# SPDX-License-Identifier: Apache-2.0
"""Validation of request specs: amounts, hosts, hints, server groups, and their types."""

import pytest

from rpcapi import errors, objects
from rpcapi.objects import request_validation
from rpcapi.resources.inventory import MAX_AMOUNT


def spec(**values):
    return objects.RequestSpec.of(**({"resources": {"VCPU": 1, "MEMORY_MB": 512}} | values))


GOOD = [
    {},
    {"resources": {"CUSTOM_GOLD_2": MAX_AMOUNT}},
    {"required_traits": ["HW_CPU_X86_AVX2", "CUSTOM_RACK"], "forbidden_traits": ["STORAGE_DISK_SSD"]},
    {"availability_zone": "zone 1", "flavor": "m1.small"},
    {"force_hosts": ["host1", "host2/node1"], "ignore_hosts": ["host2/node2"]},
    {"hints": {"query": [">=", "$free_ram_mb", 1024]}},
    {"group_id": "web", "group_policy": "anti-affinity", "group_max_per_host": 3},
    {"group_id": "db", "group_policy": "affinity"},
]


@pytest.mark.parametrize("values", GOOD)
def test_valid_spec_passes(values):
    request_validation.check_spec(spec(**values))


BAD = [
    ({"resources": {}}, errors.InvalidSpec, "1 to 32 resource classes, got 0"),
    (
        {"resources": {f"CUSTOM_{n}": 1 for n in range(33)}},
        errors.InvalidSpec,
        "the resources may contain at most 32 entries, got 33",
    ),
    ({"resources": {"VCPU": 0}}, errors.InvalidSpec, "amount of VCPU must be an integer from 1"),
    ({"resources": {"VCPU": -1}}, errors.InvalidSpec, "not -1"),
    ({"resources": {"VCPU": MAX_AMOUNT + 1}}, errors.InvalidSpec, "amount of VCPU"),
    ({"resources": {"VCPUS": 1}}, errors.UnknownResourceClass, "'VCPUS'"),
    ({"resources": {"CUSTOM_gold": 1}}, errors.UnknownResourceClass, "CUSTOM_gold"),
    ({"resources": {"CUSTOM_": 1}}, errors.UnknownResourceClass, "CUSTOM_"),
    ({"resources": {"CUSTOM_" + "A" * 255: 1}}, errors.UnknownResourceClass, "CUSTOM_AAA"),
    ({"required_traits": ["HW_CPU_MAGIC"]}, errors.UnknownTrait, "HW_CPU_MAGIC"),
    ({"forbidden_traits": ["CUSTOM_A\n"]}, errors.UnknownTrait, "CUSTOM_A"),
    ({"required_traits": ["CUSTOM_A"], "forbidden_traits": ["CUSTOM_A"]}, errors.InvalidSpec, "requires and forbids"),
    (
        {"required_traits": [f"CUSTOM_{n}" for n in range(101)]},
        errors.InvalidSpec,
        "the required traits may contain at most 100 elements, got 101",
    ),
    ({"availability_zone": ""}, errors.InvalidSpec, "availability zone must be 1 to 255"),
    ({"availability_zone": " a"}, errors.InvalidSpec, "availability zone"),
    ({"availability_zone": "a\x00b"}, errors.InvalidSpec, "availability zone"),
    ({"flavor": "f" * 256}, errors.InvalidSpec, "flavor must be"),
    ({"ignore_hosts": ["a|b"]}, errors.InvalidName, "'|'"),
    ({"force_hosts": [""]}, errors.InvalidName, "empty"),
    ({"force_hosts": [f"h{n}" for n in range(1001)]}, errors.InvalidSpec, "force_hosts may contain at most 1000"),
    ({"force_hosts": ["a/n1", "b"], "ignore_hosts": ["a", "b"]}, errors.InvalidSpec, "every host in force_hosts"),
    ({"hints": ["a"]}, errors.InvalidSpec, "must be a mapping"),
    ({"hints": {1: "a"}}, errors.InvalidSpec, "string keys"),
    (
        {"hints": {f"k{n}": 1 for n in range(51)}},
        errors.InvalidSpec,
        "the hints may contain at most 50 entries, got 51",
    ),
    ({"hints": {"k": "x" * 20_000}}, errors.InvalidSpec, "at most 16384 bytes"),
    ({"consumer_type": "instance"}, errors.InvalidSpec, "consumer type"),
    ({"group_id": "g"}, errors.InvalidSpec, "both its id and its policy"),
    ({"group_policy": "affinity"}, errors.InvalidSpec, "both its id and its policy"),
    ({"group_id": "g", "group_policy": "apart"}, errors.InvalidSpec, "known: affinity, anti-affinity"),
    ({"group_id": "g", "group_policy": "anti-affinity", "group_max_per_host": 0}, errors.InvalidSpec, "max per host"),
    ({"group_id": "g", "group_policy": "affinity", "group_max_per_host": 2}, errors.InvalidSpec, "anti-affinity"),
    ({"group_id": "a b", "group_policy": "affinity"}, errors.InvalidName, "space"),
]


@pytest.mark.parametrize(("values", "error_class", "sentence"), BAD)
def test_invalid_spec_is_refused_with_the_reason(values, error_class, sentence):
    with pytest.raises(error_class) as caught:
        request_validation.check_spec(spec(**values))
    assert type(caught.value) is error_class
    assert sentence in str(caught.value)


@pytest.mark.parametrize("value", [None, {}, "spec", objects.Selections])
def test_value_that_is_not_a_spec_is_malformed(value):
    with pytest.raises(errors.MalformedObject, match="RequestSpec"):
        request_validation.check_spec(value)
