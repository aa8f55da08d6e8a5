# SPDX-License-Identifier: Apache-2.0
"""Schema of request specs: every part is checked, and arbitrary values raise typed errors only."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oslo_versionedobjects import fields

from rpcapi import errors, objects
from rpcapi.objects import request_schema
from rpcapi.resources.inventory import MAX_AMOUNT

UUID = "0a1b2c3d-4e5f-4a6b-8c7d-9e0f1a2b3c4d"
VGPU = {"resources": {"VGPU": 1}}
CELL = {"id": 0, "group": "_numa0", "cpus": [0, 1], "pcpus": [0, 1], "memory_mb": 1024}
PINNED = {
    "groups": {"_numa0": {"resources": {"PCPU": 2, "MEMORY_MB": 1024}}},
    "numa": {"cells": [CELL], "cpu_policy": "dedicated", "thread_policy": None, "page_size_kb": None},
    "resources": {"DISK_GB": 1},
}


def spec(**values):
    return objects.RequestSpec.of(**({"resources": {"VCPU": 1, "MEMORY_MB": 512}} | copy.deepcopy(values)))


GROUP = VGPU | {
    "required": ["CUSTOM_A"],
    "any_of": [["CUSTOM_B", "CUSTOM_C"]],
    "forbidden": ["CUSTOM_D"],
    "member_of": [["rack1", "rack2"]],
    "forbidden_aggregates": ["rack3"],
    "in_tree": "h/n",
}
NEW_VOLUME = {"size_gb": 1, "group": "1"}
GOOD = [
    {},
    {"resources": {"CUSTOM_GOLD_2": MAX_AMOUNT}},
    {"required_traits": ["HW_CPU_X86_AVX2", "CUSTOM_RACK"], "forbidden_traits": ["STORAGE_DISK_SSD"]},
    {"availability_zone": "zone 1", "flavor": "m1.small"},
    {"force_hosts": ["host1", "host2/node1"], "ignore_hosts": ["host2/node2"]},
    {"hints": {"query": [">=", "$free_ram_mb", 1024]}},
    {"group_id": "web", "group_policy": "anti-affinity", "group_max_per_host": 3},
    {"group_id": "web", "group_policy": "soft-affinity"},
    {"group_id": "web"},
    {"group_id": "web", "group_max_per_host": 3},
    {"image": {"name": "i", "min_ram_mb": 512}},
    {"image": {"name": "i", "min_disk_gb": 9}, "flavor_amounts": {"DISK_GB": 9}},
    {"image": {"name": "i", "min_disk_gb": 9}, "volumes": [{"pool": "p", "boot": True}]},
    {"groups": {"1": VGPU}, "resources": {}},
    {"groups": {"1": GROUP}},
    {"groups": {"1": VGPU, "2": VGPU}, "groups_policy": "isolate"},
    {"groups": {"1": VGPU, "near": {}}, "groups_policy": "none", "same_subtree": [["1", "near"]]},
    {"any_traits": [["CUSTOM_A", "CUSTOM_B"]], "forbidden_traits": ["CUSTOM_A"]},
    {"member_of": [["rack1", "rack2"]], "forbidden_aggregates": ["rack2"], "in_tree": "host/numa0"},
    {"root_required": ["CUSTOM_A"], "forbidden_traits": ["CUSTOM_A"]},
    {"image": {"id": "cirros", "properties": {"hw_architecture": "x86_64"}}, "extra_specs": {"hw:boot_menu": "true"}},
    {"service": "volume", "driver": "solver"},
    {"volumes": [{"pool": "p1"}, NEW_VOLUME, {"pool": "p1"} | NEW_VOLUME], "groups": {"1": VGPU}},
    {"ports": [{}, {"physnet": "net0"}, {"segment": "s", "group": "1"}], "groups": {"1": VGPU}},
    {"requested_destination": {"host": "h/n", "partition": "west", "allow_cross_cell_move": True}},
    PINNED,
]


@pytest.mark.parametrize("values", GOOD)
def test_valid_spec_passes_and_is_not_changed(values):
    checked = spec(**values)
    before = copy.deepcopy(checked.obj_to_primitive())
    request_schema.check_spec(checked)
    assert checked.obj_to_primitive() == before


def group(**values):
    return {"groups": {"1": VGPU | values}}


def traits(number, prefix=""):
    return [f"CUSTOM_{prefix}{n}" for n in range(number)]


BAD = [
    ({"image": {"name": "i", "min_ram_mb": 513}}, "image 'i' needs 513 MiB of memory, and the request has 512"),
    (
        {"image": {"id": "i", "min_disk_gb": 9}, "flavor": "f", "flavor_amounts": {"DISK_GB": 8}},
        "image 'i' needs 9 GiB of disk, and flavor 'f' has 8",
    ),
    (
        {
            "image": {"name": "i", "min_disk_gb": 9},
            "volumes": [{"size_gb": 8, "group": "1", "boot": True}],
            "groups": {"1": VGPU},
        },
        "needs 9 GiB of disk, and the boot volume has 8",
    ),
    ({"image": {"min_disk_gb": 0}}, "image.min_disk_gb must be an integer from 1"),
    ({"flavor_amounts": {"VCPU": 0}}, "flavor_amounts.VCPU must be an integer from 1"),
    ({"volumes": [{"pool": "p", "boot": True}, {"pool": "q", "boot": True}]}, "at most one volume may boot the server"),
    ({"volumes": [{"pool": "p", "boot": 1}]}, "volumes[0].boot must be a boolean"),
    ({"resources": {}}, "1 to 32 resource classes, got 0"),
    ({"resources": {f"CUSTOM_{n}": 1 for n in range(33)}}, "resources may have at most 32 entries, got 33"),
    ({"resources": {"VCPU": 0}}, "resources.VCPU must be an integer from 1 to 2147483647, not 0"),
    ({"resources": {"VCPU": MAX_AMOUNT + 1}}, "resources.VCPU must be an integer"),
    ({"required_traits": ["CUSTOM_A"], "forbidden_traits": ["CUSTOM_A"]}, "requires and forbids CUSTOM_A"),
    ({"required_traits": traits(101)}, "required_traits must have 0 to 100 elements, got 101"),
    ({"required_traits": traits(60), "forbidden_traits": traits(60, "B")}, "names more than 100 traits"),
    ({"any_traits": [["CUSTOM_A"]], "forbidden_traits": ["CUSTOM_B", "CUSTOM_A"]}, "but forbids all"),
    ({"any_traits": [[]]}, "any_traits[0] must have 1 to 100 elements, got 0"),
    ({"root_required": ["CUSTOM_A"], "root_forbidden": ["CUSTOM_A"]}, "requires and forbids CUSTOM_A of the root"),
    ({"resources": {}, "groups": {"1": VGPU}, "required_traits": ["CUSTOM_A"]}, "has traits but no resources"),
    ({"member_of": [["a", "b"]], "forbidden_aggregates": ["b", "a"]}, "requires one of a, b, but forbids all"),
    ({"member_of": [[]]}, "member_of[0] must have 1 to 1000 elements"),
    ({"member_of": [["a", " b"]]}, "member_of[0][1] must be 1 to 255 printable characters"),
    ({"forbidden_aggregates": [""]}, "forbidden_aggregates[0] must be 1 to 255 printable characters"),
    ({"groups": []}, "groups must be a mapping"),
    ({"groups": {"": VGPU}}, "a key of groups must be 1 to 64 letters"),
    ({"groups": {"a b": VGPU}}, "a key of groups must be 1 to 64 letters"),
    ({"groups": {"1": 3}}, "groups.1 must be a mapping"),
    ({"groups": {"1": {}}}, "group '1' requests no resources"),
    ({"groups": {"1": VGPU, "2": VGPU}}, "2 request groups need a groups policy"),
    ({"groups": {str(n): VGPU for n in range(65)}}, "groups may have at most 64 entries, got 65"),
    (group(colour="red"), "groups.1 has an unknown key 'colour'"),
    (group(resources={"VGPU": True}), "groups.1.resources.VGPU must be an integer"),
    (group(resources={"VGPU": 1.5}), "not 1.5"),
    (group(resources=["VGPU"]), "groups.1.resources must be a mapping"),
    (group(required="CUSTOM_A"), "groups.1.required must be a list"),
    (group(required=["CUSTOM_A"], forbidden=["CUSTOM_A"]), "requires and forbids CUSTOM_A of group '1'"),
    (group(any_of=[["CUSTOM_A"]], forbidden=["CUSTOM_A"]), "requires one of CUSTOM_A of group '1', but forbids all"),
    (group(any_of=[[]]), "groups.1.any_of[0] must have 1 to 100 elements"),
    (group(member_of="a"), "groups.1.member_of must be a list"),
    (group(member_of=[[1]]), "groups.1.member_of[0][0] must be 1 to 255 printable characters"),
    (group(in_tree=7), "groups.1.in_tree must be the name of a host or provider"),
    (group(in_tree=["h", "n"]), "groups.1.in_tree must be the name of a host or provider"),
    ({"groups_policy": "apart"}, "groups_policy must be one of none, isolate, not 'apart'"),
    ({"same_subtree": [[]]}, "same_subtree[0] must have 1 to 64 elements"),
    ({"same_subtree": [["1", "2"]], "groups": {"1": VGPU}}, "same_subtree names group '2', which is not"),
    ({"same_subtree": [[["1"]]], "groups": {"1": VGPU}}, "same_subtree[0][0] must be a string"),
    ({"same_subtree": [["1"]] * 65, "groups": {"1": VGPU}}, "same_subtree must have 0 to 64 elements"),
    ({"availability_zone": ""}, "availability_zone must be 1 to 255"),
    ({"flavor": "f" * 256}, "flavor must be"),
    ({"force_hosts": ["a"], "ignore_hosts": ["a"]}, "every host in force_hosts"),
    ({"force_hosts": ["a/n1", "b"], "ignore_hosts": ["a", "b"]}, "every host in force_hosts"),
    ({"force_hosts": [f"h{n}" for n in range(1001)]}, "force_hosts must have 0 to 1000 elements"),
    ({"ignore_hosts": [f"h{n}" for n in range(1001)]}, "ignore_hosts must have 0 to 1000 elements"),
    ({"hints": ["a"]}, "hints must be a mapping"),
    ({"consumer_type": "instance"}, "consumer_type must be 1 to 255 characters of A-Z"),
    ({"group_policy": "affinity"}, "needs the group's id"),
    ({"group_max_per_host": 3}, "needs the group's id"),
    ({"group_id": "g", "group_policy": "apart"}, "group_policy must be one of affinity, anti-affinity"),
    ({"group_id": "g", "group_policy": "anti-affinity", "group_max_per_host": 0}, "group_max_per_host must be"),
    ({"group_id": "g", "group_policy": "anti-affinity", "group_max_per_host": MAX_AMOUNT + 1}, "group_max_per_host"),
    ({"group_id": "g", "group_policy": "affinity", "group_max_per_host": 2}, "anti-affinity only, not for affinity"),
    ({"image": {"colour": "red"}}, "image has an unknown key 'colour'"),
    ({"extra_specs": {"": "x"}}, "a key of extra_specs must be 1 to 255 characters"),
    ({"volumes": [{}]}, "needs the name of its pool"),
    ({"volumes": [{"size_gb": 1}]}, "needs size_gb and the request group"),
    ({"volumes": [{"pool": "pool1", "group": "1"}]}, "needs size_gb and the request group"),
    ({"volumes": [{"size_gb": 0, "group": "1"}]}, "volumes[0].size_gb must be an integer"),
    ({"volumes": [NEW_VOLUME]}, "a volume or port names group '1', which is not in the request"),
    ({"volumes": [{"pool": 3}]}, "volumes[0].pool must be the name"),
    ({"volumes": [{"colour": "red"}]}, "volumes[0] has an unknown key 'colour'"),
    ({"volumes": [{"pool": "p"}] * 65}, "volumes must have 0 to 64 elements, got 65"),
    ({"ports": [{"physnet": ""}]}, "ports[0].physnet must be 1 to 255"),
    ({"ports": [{"segment": 7}]}, "ports[0].segment must be 1 to 255"),
    ({"ports": [{"group": "2"}]}, "a volume or port names group '2', which is not in the request"),
    ({"ports": [{"group": ["2"]}]}, "ports[0].group must be a string"),
    ({"ports": [{"colour": "red"}]}, "ports[0] has an unknown key 'colour'"),
    ({"ports": [{}] * 65}, "ports must have 0 to 64 elements, got 65"),
    ({"consumer_type": "MIGRATION"}, "consumer_type 'MIGRATION' is reserved for sources of moves"),
    ({"service": "compost"}, "service must be one of compute, volume, network, not 'compost'"),
    ({"driver": "a b"}, "driver must be 1 to 64 letters"),
    ({"requested_destination": ["h"]}, "requested_destination must be a mapping"),
    ({"requested_destination": {"cell": "west"}}, "requested_destination has an unknown key 'cell'"),
    ({"requested_destination": {"partition": 3}}, "requested_destination.partition must be 1 to 255"),
    ({"requested_destination": {"host": ["h", "n"]}}, "requested_destination.host must be the name"),
    ({"requested_destination": {"allow_cross_cell_move": "yes"}}, "allow_cross_cell_move must be a boolean"),
    ({"numa": {"cells": []}}, "numa.cells must have 1 to 32 elements"),
    (PINNED | {"groups": {"_numa0": VGPU}}, "'_numa0' must request what numa.cells[0] needs"),
    ({"hints": {"group": "web"}, "group_id": "web"}, "hints.group must be the uuid of a server group, not 'web'"),
    ({"hints": {"group": UUID}, "group_id": UUID.replace("0", "1")}, f"hint 'group' {UUID} differs from group_id '1a"),
]


@pytest.mark.parametrize(("values", "sentence"), BAD)
def test_invalid_spec_is_refused_with_the_reason(values, sentence):
    with pytest.raises(errors.InvalidSpec) as caught:
        request_schema.check_spec(spec(**values))
    assert sentence in caught.value.sentence


@pytest.mark.parametrize(
    ("values", "disk"),
    [
        ({}, 3),
        ({"volumes": [{"size_gb": 9, "group": "vol"}]}, 3),
        ({"ports": [{"group": "vol"}]}, 3),
        ({"volumes": [{"pool": "p"}]}, 12),
        ({"volumes": [{"size_gb": 9, "group": "vol"}], "flavor_amounts": {"DISK_GB": 5}}, 5),
    ],
)
def test_volumes_and_ports_do_not_count_as_the_flavor(values, disk):
    groups = {"1": {"resources": {"DISK_GB": 2}}, "vol": {"resources": {"DISK_GB": 9}}}
    request = spec(resources={"VCPU": 1, "DISK_GB": 1}, groups=groups if values else {"1": groups["1"]}, **values)
    assert request_schema.amount_of_flavor(request, "DISK_GB") == disk


@pytest.mark.parametrize("spelled", [UUID.upper(), UUID.replace("-", "")])
def test_uuids_of_groups_aggregates_and_api_providers_are_canonical(spelled):
    def values(uuid):
        group = {"member_of": [["rack1", uuid], [uuid]], "forbidden_aggregates": ["Rack2", uuid]}
        groups = {"1": VGPU | group | {"in_tree": f"@api/{uuid}"}, "2": VGPU | {"in_tree": "H/N"}}
        return {"group_id": uuid, "hints": {"same_host": uuid}, "in_tree": f"@api/{uuid}", "groups": groups, **group}

    canonical = request_schema.canonical(spec(**values(spelled)))
    assert canonical.obj_to_primitive() == spec(**values(UUID)).obj_to_primitive()
    assert request_schema.canonical(canonical) is canonical


@pytest.mark.parametrize("hint", [UUID.upper(), [UUID]])
@pytest.mark.parametrize("values", [{}, {"group_id": UUID}, {"group_policy": "affinity"}])
def test_group_in_the_hints_is_the_group_of_the_spec(hint, values):
    checked = spec(hints={"group": hint, "other": 1}, **values)
    request_schema.check_spec(checked)
    canonical = request_schema.canonical(checked)
    assert (canonical.group_id, canonical.hints) == (UUID, {"other": 1})
    assert request_schema.canonical(canonical) is canonical


def test_every_field_has_a_rule_or_a_type_that_needs_none():
    unruled = objects.RequestSpec.fields.keys() - request_schema.RULES.keys()
    assert all(type(objects.RequestSpec.fields[name]) is fields.BooleanField for name in unruled)
    assert request_schema.RULES.keys() <= objects.RequestSpec.fields.keys()


@pytest.mark.parametrize(
    ("values", "error_class"),
    [
        *(({"resources": {name: 1}}, errors.UnknownResourceClass) for name in ("VCPUS", "CUSTOM_gold", "CUSTOM_")),
        ({"resources": {"CUSTOM_" + "A" * 255: 1}}, errors.UnknownResourceClass),
        (group(resources={"HOVERCRAFT": 1}), errors.UnknownResourceClass),
        *(
            (group(**{kind: value}), errors.UnknownTrait)
            for name in ("HW_CPU_MAGIC", "CUSTOM_A\n", "custom_a", "", 7)
            for kind, value in (("required", [name]), ("any_of", [[name]]), ("forbidden", [name]))
        ),
        ({"required_traits": ["HW_NO_SUCH"]}, errors.UnknownTrait),
        ({"forbidden_traits": ["HW_NO_SUCH"]}, errors.UnknownTrait),
        ({"any_traits": [["HW_NO_SUCH"]]}, errors.UnknownTrait),
        ({"root_required": ["HW_NO_SUCH"]}, errors.UnknownTrait),
        ({"root_forbidden": ["HW_NO_SUCH"]}, errors.UnknownTrait),
        (group(in_tree="a b"), errors.InvalidName),
        ({"in_tree": ""}, errors.InvalidName),
        ({"ignore_hosts": ["a|b"]}, errors.InvalidName),
        ({"force_hosts": [""]}, errors.InvalidName),
        ({"requested_destination": {"host": "a|b"}}, errors.InvalidName),
        ({"group_id": "a b", "group_policy": "affinity"}, errors.InvalidName),
        ({"volumes": [{"pool": "a b"}]}, errors.InvalidName),
    ],
)
def test_unknown_names_raise_their_specific_error(values, error_class):
    with pytest.raises(error_class):
        request_schema.check_spec(spec(**values))


@pytest.mark.parametrize("value", [None, {}, "spec", objects.Selections])
def test_value_that_is_not_a_spec_is_malformed(value):
    with pytest.raises(errors.MalformedObject, match="RequestSpec"):
        request_schema.check_spec(value)


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
        request_schema.check_spec(spec)
    except errors.InvalidRequest as error:
        assert error.sentence
