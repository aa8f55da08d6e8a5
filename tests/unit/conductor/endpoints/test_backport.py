# SPDX-License-Identifier: Apache-2.0
"""Backporting of objects for older peers."""

import pytest
from oslo_versionedobjects import base

from conductor.endpoints.backport import backport
from rpcapi import errors, objects
from tests.support import next_release

SPEC = objects.RequestSpec.of(resources={"VCPU": 1})


def test_object_is_converted_to_requested_version() -> None:
    with next_release.registered() as later:
        primitive = backport(later.of(resources={"VCPU": 1}, priority=7), {"RequestSpec": next_release.PRESENT})
    assert primitive["gantt_object.version"] == next_release.PRESENT
    assert "priority" not in primitive["gantt_object.data"]
    assert primitive["gantt_object.data"]["resources"] == {"VCPU": 1}


def test_nested_objects_are_converted() -> None:
    with next_release.registered() as later:
        spec = later.of(resources={"VCPU": 1}, priority=7)
        request = objects.BuildRequest.of(
            spec=spec, partition="p", project_id="p", user_id="u", uuids=["a"], attempts=[1], names=["h/n"]
        )
        versions = {**base.obj_tree_get_versions("BuildRequest"), "RequestSpec": next_release.PRESENT}
        primitive = backport(request, versions)
    assert primitive["gantt_object.data"]["spec"]["gantt_object.version"] == next_release.PRESENT


@pytest.mark.parametrize("value", [{"a": 1}, None, "RequestSpec"])
def test_value_that_is_not_an_object_is_refused(value: object) -> None:
    with pytest.raises(errors.MalformedObject):
        backport(value, {"RequestSpec": "1.0"})


@pytest.mark.parametrize("versions", [{}, {"RequestSpec": 1}, [], {"Instance": "1.0"}])
def test_invalid_manifest_is_refused(versions: object) -> None:
    with pytest.raises(errors.MalformedObject):
        backport(SPEC, versions)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["9.9", "2.0", "one"])
def test_unknown_version_is_refused(version: str) -> None:
    with pytest.raises(errors.IncompatibleObject):
        backport(SPEC, {"RequestSpec": version})
