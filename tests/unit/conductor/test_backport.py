# SPDX-License-Identifier: Apache-2.0
"""Objects at the version that an older peer knows."""

import pytest
from oslo_versionedobjects import base

from conductor.backport import backport
from rpcapi import errors, objects

SPEC = objects.RequestSpec.of(resources={"VCPU": 1}, group_id="g", group_policy="affinity")


def test_an_object_is_given_at_the_version_asked_for() -> None:
    primitive = backport(SPEC, {"RequestSpec": "1.0"})
    assert primitive["gantt_object.version"] == "1.0"
    assert "group_id" not in primitive["gantt_object.data"]
    assert primitive["gantt_object.data"]["resources"] == {"VCPU": 1}


def test_objects_within_it_too() -> None:
    request = objects.BuildRequest.of(
        spec=SPEC, partition="p", project_id="p", user_id="u", uuids=["a"], attempts=[1], names=["h/n"]
    )
    primitive = backport(request, {**base.obj_tree_get_versions("BuildRequest"), "RequestSpec": "1.0"})
    assert primitive["gantt_object.data"]["spec"]["gantt_object.version"] == "1.0"


@pytest.mark.parametrize("found", [{"a": 1}, None, "RequestSpec"])
def test_what_is_no_object_is_refused(found: object) -> None:
    with pytest.raises(errors.MalformedObject):
        backport(found, {"RequestSpec": "1.0"})


@pytest.mark.parametrize("versions", [{}, {"RequestSpec": 1}, [], {"Instance": "1.0"}])
def test_what_is_no_manifest_is_refused(versions: object) -> None:
    with pytest.raises(errors.MalformedObject):
        backport(SPEC, versions)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["9.9", "2.0", "one"])
def test_a_version_that_it_never_had_is_refused(version: str) -> None:
    with pytest.raises(errors.IncompatibleObject):
        backport(SPEC, {"RequestSpec": version})
