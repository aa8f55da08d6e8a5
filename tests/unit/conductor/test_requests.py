# SPDX-License-Identifier: Apache-2.0
"""Intake of build requests, and what is read back."""

import pytest

from conductor.instances import InstanceReader
from conductor.requests import BuildRequests
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects

UUIDS = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(2)]


@pytest.fixture
def store():
    return MemoryConductorStore()


@pytest.fixture
def build(store):
    requests = BuildRequests(store, lambda: None, max_instances=10)
    ctxt, spec = context.new("project", "user"), objects.RequestSpec.of(resources={"VCPU": 1})
    return lambda uuids, *names: requests.build(ctxt, spec, uuids, *names)


def list_names(store):
    return {
        instance.uuid: instance.name for instance in InstanceReader(store, 10).list(None, 10, deleted=False).instances
    }


def test_instances_have_the_names_of_their_request(store, build):
    build(UUIDS, ["web-1", "web-2"])
    assert list_names(store) == dict(zip(UUIDS, ["web-1", "web-2"], strict=True))


def test_instances_of_a_request_without_names_have_none(store, build):
    build(UUIDS)
    assert list_names(store) == dict.fromkeys(UUIDS)


def test_same_instances_with_other_names_are_another_request(build):
    build(UUIDS, ["a", "b"])
    build(UUIDS, ["a", "b"])
    with pytest.raises(errors.InstanceConflict):
        build(UUIDS, ["a", "c"])


def test_request_with_too_few_names_is_rejected_and_not_recorded(store, build):
    with pytest.raises(errors.InvalidRequest, match="one name for each of 2 instances"):
        build(UUIDS, ["a"])
    assert list_names(store) == {}
