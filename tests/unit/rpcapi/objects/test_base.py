# SPDX-License-Identifier: Apache-2.0
"""Base class of the objects: defaults, type checks and objects of older peers."""

import pytest

from rpcapi import errors, objects
from rpcapi.objects.base import GanttObject
from tests.support import next_release


def test_missing_fields_get_unshared_defaults():
    first, second = (objects.RequestSpec.of(resources={"VCPU": 1}) for _ in range(2))
    first.ignore_hosts.append("host1")
    assert second.ignore_hosts == []
    assert second.consumer_type == "INSTANCE"


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({}, "field 'resources' is missing"),
        ({"resources": {"VCPU": 1}, "forbiden_traits": []}, "no field forbiden_traits"),
        ({"resources": {"VCPU": 1.9}}, "integers"),
        ({"resources": {"VCPU": "1"}}, "integers"),
        ({"resources": {"VCPU": True}}, "integers"),
        ({"resources": {7: 1}}, "integers"),
        ({"resources": {"VCPU": 1}, "required_traits": "CUSTOM_A"}, "list of str"),
        ({"resources": {"VCPU": 1}, "required_traits": [None]}, "list of str"),
        ({"resources": {"VCPU": 1}, "hints": {"a": float("nan")}}, "plain JSON"),
        ({"resources": {"VCPU": 1}, "hints": {"a": object()}}, "plain JSON"),
    ],
)
def test_invalid_field_is_malformed(values, why):
    with pytest.raises(errors.MalformedObject, match=why):
        objects.RequestSpec.of(**values)


def test_columns_of_different_length_are_malformed():
    with pytest.raises(errors.MalformedObject, match="differ in length"):
        objects.ClaimRefs.of(consumers=["a", "b"], attempts=[1])


def test_object_of_an_older_peer_is_read_with_defaults():
    primitive = objects.RequestSpec.of(resources={"VCPU": 2}).obj_to_primitive()
    with next_release.registered():
        spec = GanttObject.obj_from_primitive(primitive)
    assert (spec.priority, spec.resources, spec.VERSION) == (0, {"VCPU": 2}, next_release.NEXT)


def test_later_field_is_dropped_for_an_older_peer():
    with next_release.registered() as later:
        primitive = later.of(resources={"VCPU": 2}, priority=7).obj_to_primitive(target_version=next_release.PRESENT)
    spec = GanttObject.obj_from_primitive(primitive)
    assert (type(spec), spec.resources) == (objects.RequestSpec, {"VCPU": 2})


def test_nested_object_is_completed_and_checked():
    spec = objects.RequestSpec.of(resources={"VCPU": 2})
    request = objects.BuildRequest.of(
        spec=spec, partition="p", project_id="", user_id="", uuids=[], attempts=[], names=[]
    )
    primitive = request.obj_to_primitive()
    assert GanttObject.obj_from_primitive(primitive).spec.consumer_type == "INSTANCE"
    del primitive["gantt_object.data"]["spec"]["gantt_object.data"]["resources"]
    with pytest.raises(errors.MalformedObject, match=r"RequestSpec.*field 'resources' is missing"):
        GanttObject.obj_from_primitive(primitive)
