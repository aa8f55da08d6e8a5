# SPDX-License-Identifier: Apache-2.0
"""Nova's RequestSpecs, recorded as Nova sends them, and what is read of them."""

import copy

import pytest

from rpcapi import errors
from rpcapi.objects.request_schema import check_spec
from scheduler_svc.nova.bus import request_spec
from tests.support.nova import queries

CELL = "00000000-0000-0000-0000-000000000021"


def primitive(case, **fields):
    """Return a recorded primitive with other values for these fields."""
    changed = copy.deepcopy(queries.RECORDED[case]["primitive"])
    changed["nova_object.data"] |= fields
    return changed


def translated(case, **fields):
    return request_spec.translate(primitive(case, **fields))


@pytest.mark.parametrize("case", queries.RECORDED)
def test_groups_are_those_of_novas_query(case):
    recorded, request = queries.RECORDED[case], translated(case)
    check_spec(request.spec)
    assert queries.of_spec(request.spec) == queries.of_nova(recorded["pinned"])
    if case not in ("dedicated", "image"):
        assert request.fallback is None
    else:
        check_spec(request.fallback)
        assert queries.of_spec(request.fallback) == queries.of_nova(recorded["shared"])


def test_destination_limits_hosts_cell_and_aggregates():
    request = translated("destination")
    assert list(request.spec.force_hosts) == ["h1/n1"]
    assert request.spec.ignore_hosts == ["h2"]
    assert request.spec.availability_zone == "zone1"
    assert [[name[-2:] for name in names] for names in request.spec.member_of] == [["22", "23"], ["24"]]
    assert [name[-2:] for name in request.spec.forbidden_aggregates] == ["25"]
    assert (request.destination.cell, request.destination.stays_in_cell) == (CELL, True)
    assert not request.skips_filters


def test_move_across_cells_keeps_the_cell_as_the_source_only():
    destination = translated("cross_cell").destination
    assert (destination.cell, destination.stays_in_cell) == (CELL, False)


def test_forced_hosts_skip_filters_and_the_group_policy():
    request = translated("forced")
    assert list(request.spec.force_hosts) == ["h1/n1"], "of several ones Nova asks Placement for the first"
    assert request.skips_filters
    assert request.spec.group_id is None


@pytest.mark.parametrize(("values", "query"), [(['["=", "$host", "h1"]'], '["=", "$host", "h1"]'), ([], "")])
def test_query_is_the_first_of_its_hints(values, query):
    assert translated("plain", scheduler_hints={"query": values}).spec.hints == {"query": query}


def test_rebuild_checks_the_host_and_passes_no_hint_on():
    request = translated("rebuild")
    assert request.is_rebuild
    assert not request.skips_filters
    assert list(request.spec.force_hosts) == ["h1/n1"]
    assert request.spec.hints == {}


def test_group_without_a_uuid_is_that_of_the_hint():
    """Nova keeps such a spec of a server that was booted before it stored the uuid (its bug 1830747)."""
    group = primitive("server_group")["nova_object.data"]["instance_group"]
    del group["nova_object.data"]["uuid"]
    for hint in ([CELL], CELL):
        spec = translated("server_group", instance_group=group, scheduler_hints={"group": hint}).spec
        check_spec(spec)
        assert (spec.group_id, spec.group_policy) == (CELL, "anti-affinity")
    with pytest.raises(errors.MalformedObject, match="uuid is missing"):
        translated("server_group", instance_group=group, scheduler_hints={})


@pytest.mark.parametrize("hint", [CELL, [CELL], ["web"], []])
def test_group_is_novas_instance_group_whatever_the_hint_says(hint):
    plain = translated("plain", scheduler_hints={"group": hint}).spec
    grouped = translated("server_group", scheduler_hints={"group": hint}).spec
    for spec in (plain, grouped):
        check_spec(spec)
    assert (plain.hints, plain.group_id) == ({}, None)
    assert (grouped.hints, grouped.group_id) == ({}, translated("server_group").spec.group_id)


def test_server_group_has_policy_limit_and_members():
    request = translated("server_group")
    assert (request.spec.group_id[-2:], request.spec.group_policy, request.spec.group_max_per_host) == (
        "31",
        "anti-affinity",
        2,
    )
    assert [member[-2:] for member in request.members] == ["32", "33"]
    assert request.member_hosts == ("h3",)
    assert request.count == 3


def test_remote_managed_port_requires_the_trait_of_the_root():
    assert queries.REMOTE_MANAGED in translated("groups").spec.root_required
    assert queries.REMOTE_MANAGED not in translated("plain").spec.root_required


def test_volume_needs_no_root_disk_and_no_disk_format():
    spec = translated("volume").spec
    assert spec.resources["DISK_GB"] == 3
    assert "disk_format" not in spec.image


def test_image_properties_are_strings_with_one_for_each_node():
    properties = translated("image").spec.image["properties"]
    assert properties["hw_numa_cpus.1"] == "1"
    assert properties["hw_numa_mem.0"] == "256"
    assert properties["hw_virtio_packed_ring"] == "True"
    assert all(isinstance(value, str) for value in properties.values())


def test_newer_minor_versions_and_unknown_fields_change_nothing():
    changed = primitive("plain", shiny_new_field={"nova_object.name": "Shiny", "nova_object.version": "9.0"})
    changed["nova_object.version"] = "1.99"
    changed["nova_object.data"]["flavor"]["nova_object.version"] = "1.44"
    changed["nova_object.data"]["image"]["nova_object.data"]["glow"] = ["a"]
    assert repr(request_spec.translate(changed)) == repr(translated("plain"))


def test_fields_that_nova_may_leave_out_have_defaults():
    fields = primitive("plain")["nova_object.data"]
    bare = {**primitive("plain"), "nova_object.data": {"flavor": fields["flavor"]}}
    request = request_spec.translate(bare)
    assert (request.count, request.project, request.user) == (1, "", "")
    assert request.spec.resources == {"VCPU": 2, "MEMORY_MB": 512, "DISK_GB": 4}
    assert request.spec.image == {}


@pytest.mark.parametrize("name", ["flavor", "image", "instance_group", "requested_destination", "request_level_params"])
def test_other_major_version_is_refused(name):
    changed = primitive("server_group", requested_destination=destination())
    changed["nova_object.data"][name]["nova_object.version"] = "2.0"
    with pytest.raises(errors.IncompatibleObject, match=r"2\.0"):
        request_spec.translate(changed)


def destination(**fields):
    return {"nova_object.name": "Destination", "nova_object.version": "1.4", "nova_object.data": fields}


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"flavor": None}, "flavor is missing"),
        ({"flavor": {"nova_object.name": "Flavor"}}, "no version"),
        ({"flavor": {"nova_object.name": "Image"}}, "it is 'Image'"),
        ({"flavor": 7}, "it is 7"),
        ({"ignore_hosts": "h1"}, "ignore_hosts must be of type list"),
        ({"ignore_hosts": [1]}, "strings only"),
        ({"ignore_hosts": [None]}, "strings only"),
        ({"scheduler_hints": []}, "scheduler_hints must be of type dict"),
        ({"num_instances": -1}, "non-negative"),
        ({"num_instances": True}, "non-negative"),
        ({"is_bfv": "no"}, "is_bfv must be of type bool"),
        ({"requested_resources": {}}, "requested_resources must be of type list"),
    ],
)
def test_malformed_field_is_refused_with_its_name(fields, why):
    with pytest.raises(errors.MalformedObject, match=why):
        request_spec.translate(primitive("plain", **fields))


@pytest.mark.parametrize("field", ["vcpus", "memory_mb", "root_gb"])
def test_flavor_without_a_size_is_refused(field):
    changed = primitive("plain")
    del changed["nova_object.data"]["flavor"]["nova_object.data"][field]
    with pytest.raises(errors.MalformedObject, match=f"{field} is missing"):
        request_spec.translate(changed)


@pytest.mark.parametrize("primitive", [None, 7, [], {}, {"nova_object.name": "RequestSpec"}, "RequestSpec"])
def test_what_is_no_request_spec_is_refused(primitive):
    with pytest.raises(errors.MalformedObject):
        request_spec.translate(primitive)


def test_group_of_another_requester_needs_a_name():
    changed = primitive("groups")
    changed["nova_object.data"]["requested_resources"][0]["nova_object.data"]["requester_id"] = None
    with pytest.raises(errors.InvalidSpec, match="requester_id"):
        request_spec.translate(changed)


def test_requested_host_that_is_not_forced_is_refused():
    with pytest.raises(errors.InvalidSpec, match="'h2' is not among the forced ones"):
        translated("forced", requested_destination=destination(host="h2"))
    both = translated("forced", requested_destination=destination(host="h1", node="n2"))
    assert list(both.spec.force_hosts) == ["h1/n2"]
