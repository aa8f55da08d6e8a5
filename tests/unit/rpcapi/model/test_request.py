# SPDX-License-Identifier: Apache-2.0
"""What bad requests are told, before anything is recorded."""

import uuid

import pytest

from rpcapi import errors, objects
from rpcapi.model import request
from rpcapi.model.inventory import MAX_AMOUNT


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
def test_a_sound_spec_passes(values):
    request.check_spec(spec(**values))


BAD = [
    ({"resources": {}}, errors.InvalidSpec, "1 to 32 resource classes, not 0"),
    ({"resources": {f"CUSTOM_{n}": 1 for n in range(33)}}, errors.InvalidSpec, "33 entries in the resources"),
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
        "101 elements in the required traits; at most 100",
    ),
    ({"availability_zone": ""}, errors.InvalidSpec, "availability zone must be 1 to 255"),
    ({"availability_zone": " a"}, errors.InvalidSpec, "availability zone"),
    ({"availability_zone": "a\x00b"}, errors.InvalidSpec, "availability zone"),
    ({"flavor": "f" * 256}, errors.InvalidSpec, "flavor must be"),
    ({"ignore_hosts": ["a|b"]}, errors.InvalidName, "'|'"),
    ({"force_hosts": [""]}, errors.InvalidName, "empty"),
    ({"force_hosts": [f"h{n}" for n in range(1001)]}, errors.InvalidSpec, "force_hosts holds more than 1000"),
    ({"force_hosts": ["a/n1", "b"], "ignore_hosts": ["a", "b"]}, errors.InvalidSpec, "none is left"),
    ({"hints": ["a"]}, errors.InvalidSpec, "must be a mapping"),
    ({"hints": {1: "a"}}, errors.InvalidSpec, "text as keys"),
    ({"hints": {f"k{n}": 1 for n in range(51)}}, errors.InvalidSpec, "51 entries in the hints"),
    ({"hints": {"k": "x" * 20_000}}, errors.InvalidSpec, "bytes; at most 16384"),
    ({"consumer_type": "instance"}, errors.InvalidSpec, "consumer type"),
    ({"group_id": "g"}, errors.InvalidSpec, "both its id and its policy"),
    ({"group_policy": "affinity"}, errors.InvalidSpec, "both its id and its policy"),
    ({"group_id": "g", "group_policy": "apart"}, errors.InvalidSpec, "known: affinity, anti-affinity"),
    ({"group_id": "g", "group_policy": "anti-affinity", "group_max_per_host": 0}, errors.InvalidSpec, "max per host"),
    ({"group_id": "g", "group_policy": "affinity", "group_max_per_host": 2}, errors.InvalidSpec, "anti-affinity"),
    ({"group_id": "a b", "group_policy": "affinity"}, errors.InvalidName, "space"),
]


@pytest.mark.parametrize(("values", "kind", "sentence"), BAD)
def test_a_spec_that_nobody_can_serve_is_refused_with_a_sentence(values, kind, sentence):
    with pytest.raises(kind) as caught:
        request.check_spec(spec(**values))
    assert type(caught.value) is kind
    assert sentence in str(caught.value)


@pytest.mark.parametrize("thing", [None, {}, "spec", objects.Selections])
def test_what_is_no_spec_is_malformed(thing):
    with pytest.raises(errors.MalformedObject, match="RequestSpec"):
        request.check_spec(thing)


@pytest.mark.parametrize("count", [1, 1000])
def test_a_count_within_the_bound_passes(count):
    request.check_count(count, 1000)


@pytest.mark.parametrize("count", [0, -1, 1001, 100_000, True, 1.0, "1", None])
def test_an_absurd_count_is_refused(count):
    with pytest.raises(errors.InvalidCount, match="1 to 1000 instances") as caught:
        request.check_count(count, 1000)
    assert str(caught.value).endswith("; split it") == (count in (1001, 100_000))


ONE = "0f6f1f0e-5a35-4d6c-9e0b-b1a5d3f0c2a4"  # fixed: parameters of tests must be the same in every process


@pytest.mark.parametrize("text", ["", "x", ONE.upper(), ONE.replace("-", ""), "{" + ONE + "}", ONE + "\n", 7, None])
def test_only_a_canonical_uuid_names_an_instance(text):
    with pytest.raises(errors.InvalidName, match="uuid in lower case"):
        request.check_uuid(text)


def test_uuids_are_a_list_of_different_ones():
    request.check_uuids([ONE, str(uuid.uuid4())], 2)
    with pytest.raises(errors.InvalidRequest, match="named twice"):
        request.check_uuids([ONE, ONE], 2)
    with pytest.raises(errors.InvalidRequest, match="must be a list"):
        request.check_uuids(ONE, 2)
    with pytest.raises(errors.InvalidCount):
        request.check_uuids([], 2)
