# SPDX-License-Identifier: Apache-2.0
"""Serialization of objects and contexts, and errors for malformed ones."""

import json
import time

import pytest

from rpcapi import context, errors, objects
from rpcapi.serializer import GanttSerializer


def wire(entity):
    """Return the entity serialized through JSON, as a peer receives it."""
    return json.loads(json.dumps(GanttSerializer().serialize_entity(None, entity)))


def spec():
    return objects.RequestSpec.of(resources={"VCPU": 2}, group_id="g", group_policy="affinity")


def read(primitive, backport=None):
    return GanttSerializer(backport).deserialize_entity(context.new(), primitive)


def test_object_is_read_back_without_changed_fields():
    received = read(wire({"spec": spec(), "n": [1, None]}))
    assert received["n"] == [1, None]
    assert received["spec"].resources == {"VCPU": 2}
    assert received["spec"].obj_what_changed() == set()


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
def test_malformed_object_raises_a_typed_error(primitive):
    with pytest.raises(errors.MalformedObject):
        read(primitive)


def test_newer_object_without_backport_is_incompatible():
    with pytest.raises(errors.IncompatibleObject, match=r"RequestSpec 1\.99 is newer .* \(1\.0\)"):
        read(broken(version="1.99"))


def test_error_contains_the_name_of_the_newer_nested_object():
    request = objects.BuildRequest.of(
        spec=spec(), partition="p", project_id="", user_id="", uuids=[], attempts=[], names=[]
    )
    primitive = wire(request)
    primitive["gantt_object.data"]["spec"]["gantt_object.version"] = "1.99"
    with pytest.raises(errors.IncompatibleObject, match=r"RequestSpec 1\.99"):
        read(primitive)


def test_newer_object_is_backported_to_the_known_versions():
    requests = []

    def backport(ctxt, objinst, versions):
        requests.append((objinst["gantt_object.version"], versions))
        return "older"

    assert read(broken(version="1.99"), backport) == "older"
    assert requests == [("1.99", {"RequestSpec": objects.RequestSpec.VERSION})]


def test_context_is_sent_without_tokens():
    sent = context.new(project_id="p", user_id="u", deadline=12.5, auth_token="secret")  # noqa: S106 - it must not be sent
    raw = json.loads(json.dumps(GanttSerializer().serialize_context(sent)))
    assert "secret" not in json.dumps(raw)
    received = GanttSerializer().deserialize_context(raw | {"later": "unknown"})
    assert received.to_dict() == sent.to_dict()


def test_context_is_sent_with_the_senders_clock():
    sent = context.new()
    before = time.time()
    received = GanttSerializer().deserialize_context(GanttSerializer().serialize_context(sent))
    assert sent.sent_ms is None
    assert int(1000 * before) <= received.sent_ms <= 1000 * time.time() + 1


@pytest.mark.parametrize(
    "raw",
    [
        {"deadline": "soon"},
        {"deadline": float("nan")},
        {"deadline": float("inf")},
        {"sent_ms": "now"},
        {"sent_ms": float("nan")},
        {"request_id": 7},
        {"user_id": ["u"]},
    ],
)
def test_malformed_context_raises_a_typed_error(raw):
    with pytest.raises(errors.MalformedObject, match="request context"):
        GanttSerializer().deserialize_context(raw)
