# SPDX-License-Identifier: Apache-2.0
"""Payloads to and from the bus, and what a faulty one is told."""

import json

import pytest

from rpcapi import context, errors, objects
from rpcapi.serializer import GanttSerializer


def wire(thing):
    """Return what the peer gets, through JSON as on a real bus."""
    return json.loads(json.dumps(GanttSerializer().serialize_entity(None, thing)))


def spec():
    return objects.RequestSpec.of(resources={"VCPU": 2}, group_id="g", group_policy="affinity")


def read(primitive, backport=None):
    return GanttSerializer(backport).deserialize_entity(context.new(), primitive)


def test_an_object_survives_the_trip_with_nothing_marked_changed():
    got = read(wire({"spec": spec(), "n": [1, None]}))
    assert got["n"] == [1, None]
    assert got["spec"].resources == {"VCPU": 2}
    assert got["spec"].obj_what_changed() == set()


def broken(**changes):
    return wire(spec()) | {f"gantt_object.{key}": value for key, value in changes.items()}


@pytest.mark.parametrize(
    "primitive",
    [
        broken(name="Nonsense"),
        broken(name=7),
        broken(name=["a"]),
        broken(namespace="nova"),
        broken(version="x.y"),
        broken(version=None),
        broken(data=None),
        broken(data=[]),
        broken(data={"resources": {"VCPU": "many"}}),
        broken(data={}),
        {"gantt_object.name": "RequestSpec"},
    ],
)
def test_a_malformed_object_is_a_typed_error(primitive):
    with pytest.raises(errors.MalformedObject):
        read(primitive)


def test_a_newer_object_without_a_conductor_is_incompatible():
    with pytest.raises(errors.IncompatibleObject, match=r"RequestSpec 1\.99 is newer .* \(1\.2\)"):
        read(broken(version="1.99"))


def test_the_newer_object_in_an_object_is_the_one_named():
    request = objects.BuildRequest.of(
        spec=spec(), partition="p", project_id="", user_id="", uuids=[], attempts=[], names=[]
    )
    primitive = wire(request)
    primitive["gantt_object.data"]["spec"]["gantt_object.version"] = "1.99"
    with pytest.raises(errors.IncompatibleObject, match=r"RequestSpec 1\.99"):
        read(primitive)


def test_a_newer_object_is_backported_whole_to_what_is_known_here():
    asked = []

    def backport(ctxt, objinst, versions):
        asked.append((objinst["gantt_object.version"], versions))
        return "older"

    assert read(broken(version="1.99"), backport) == "older"
    assert asked == [("1.99", {"RequestSpec": objects.RequestSpec.VERSION})]


def test_the_context_crosses_without_more_than_it_needs():
    sent = context.new(project_id="p", user_id="u", deadline=12.5, auth_token="secret")  # noqa: S106 - that it stays here is the point
    raw = json.loads(json.dumps(GanttSerializer().serialize_context(sent)))
    assert "secret" not in json.dumps(raw)
    got = GanttSerializer().deserialize_context(raw | {"later": "unknown"})
    assert got.to_dict() == sent.to_dict()


@pytest.mark.parametrize(
    "raw",
    [
        {"deadline": "soon"},
        {"deadline": float("nan")},
        {"deadline": float("inf")},
        {"request_id": 7},
        {"user_id": ["u"]},
    ],
)
def test_a_malformed_context_is_a_typed_error(raw):
    with pytest.raises(errors.MalformedObject, match="request context"):
        GanttSerializer().deserialize_context(raw)
