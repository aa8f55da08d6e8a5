# SPDX-License-Identifier: Apache-2.0
"""Intake of build requests, and what is read back."""

import time
from typing import Any

import pytest

from conductor.admission import AdmissionLimits
from conductor.instances import list_instances
from conductor.requests import builds
from conductor.requests.builds import compute_request_key
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import uuid_list

UUIDS = [f"00000000-0000-0000-0000-00000000000{number}" for number in range(2)]


@pytest.fixture
def store():
    return MemoryConductorStore()


@pytest.fixture
def build(store):
    conductor = make_conductor(store)
    ctxt, spec = context.new("project", "user"), objects.RequestSpec.of(resources={"VCPU": 1})
    return lambda uuids, names=(), first_sent=None: builds.build(
        conductor, ctxt, spec, uuids, names, first_sent=first_sent
    )


def list_names(store):
    return {instance.uuid: instance.name for instance in list_instances(store, None, 10, deleted=False).instances}


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


@pytest.mark.parametrize("first_sent", [True, "1", float("nan"), float("inf")])
def test_time_of_first_sending_must_be_a_number(store, build, first_sent):
    with pytest.raises(errors.InvalidRequest, match="first_sent must be a Unix time"):
        build(UUIDS, first_sent=first_sent)
    assert list_names(store) == {}


def test_unknown_request_that_is_older_than_the_horizon_is_refused(store, build):
    now = time.time()
    with pytest.raises(errors.RequestTooOld, match=r"first sent 9\d\d s ago; .* repeated for 900 s.*new uuids"):
        build(UUIDS, first_sent=now - 910)
    assert list_names(store) == {}
    build(UUIDS, first_sent=now - 800)
    build(UUIDS, first_sent=now - 910)  # a repeated one is known


def test_request_whose_caller_ceases_to_wait_before_it_is_recorded_is_refused(store):
    """Given a call that was read in time, then waited for the store until its deadline had passed."""
    conductor = make_conductor(store)
    spec = objects.RequestSpec.of(resources={"VCPU": 1})
    with pytest.raises(errors.DeadlinePassed, match="dropped; nothing was claimed"):
        builds.build(conductor, context.new("project", deadline=time.time() - 1), spec, UUIDS)
    assert list_names(store) == {}
    builds.build(conductor, context.new("project", deadline=time.time() + 600), spec, UUIDS)


def test_time_of_a_caller_whose_clock_is_ahead_makes_no_record_certain(store, build):
    build(UUIDS, first_sent=time.time() + 3600)
    assert {record.certain_epoch for record in store.get(UUIDS).values()} == {0}


def test_request_with_too_few_names_is_rejected_and_not_recorded(store, build):
    with pytest.raises(errors.InvalidRequest, match="one name for each of 2 instances"):
        build(UUIDS, ["a"])
    assert list_names(store) == {}


def test_request_beyond_the_quota_of_its_project_is_refused(store):
    limits = AdmissionLimits({"VCPU": 1})
    conductor = make_conductor(store, limits=limits)
    spec = objects.RequestSpec.of(resources={"VCPU": 1})
    with pytest.raises(errors.QuotaExceeded, match="Project 'p' may use 1 VCPU"):
        builds.build(conductor, context.new("p"), spec, UUIDS)
    builds.build(conductor, context.new("p"), spec, UUIDS[:1])
    conductor.limits = AdmissionLimits({"VCPU": 1}, {"p": {"VCPU": 2}})
    builds.build(conductor, context.new("p"), spec, UUIDS[1:])
    assert store.usage("p") == {"instances": 2, "VCPU": 2, "recorded_instances": 2}


def test_spec_that_is_too_large_is_refused(store):
    conductor = make_conductor(store, limits=AdmissionLimits(max_spec_bytes=4096))
    small = objects.RequestSpec.of(resources={"VCPU": 1}, hints={"note": "x" * 1000})
    large = objects.RequestSpec.of(resources={"VCPU": 1}, hints={"note": "x" * 4000})
    builds.build(conductor, context.new("p"), small, UUIDS[:1])
    with pytest.raises(errors.InvalidSpec, match=r"it has \d+ bytes, \[conductor\] max_spec_bytes allows 4096"):
        builds.build(conductor, context.new("p"), large, UUIDS[1:])
    assert list(list_names(store)) == UUIDS[:1]


def test_hints_of_a_client_of_one_project_name_its_instances_only(store: MemoryConductorStore) -> None:
    conductor = make_conductor(store)
    own, other, new = uuid_list(3)
    for project, uuid in (("one", own), ("two", other)):
        builds.build(conductor, context.new(project), objects.RequestSpec.of(resources={"VCPU": 1}), [uuid])
    ctxt = context.new("one")
    ctxt.sender_project = "one"

    def build(**hints: Any) -> None:
        builds.build(conductor, ctxt, objects.RequestSpec.of(resources={"VCPU": 1}, hints=hints), [new])

    for hints in ({"same_host": other}, {"different_host": [own, other]}):
        with pytest.raises(errors.CallerRefused, match=other):
            build(**hints)
        assert store.get([new]) == {}
    build(same_host=own, different_host=[uuid_list(4)[3]])
    assert list(store.get([new])) == [new]


@pytest.mark.parametrize("project", ["\ud800", "a\nb", "p" * 256])
def test_quota_of_a_text_that_no_project_has_is_refused(store, project):
    conductor = make_conductor(store)
    with pytest.raises(errors.InvalidRequest, match="project must have at most 255 printable characters"):
        builds.quota(conductor, project)


def test_identity_of_a_request_has_no_field_with_its_default(monkeypatch):
    """Given a caller that repeats its request across an upgrade, then a field that it does not know changes nothing."""
    ctxt, spec = context.new("project", "user"), objects.RequestSpec.of(resources={"VCPU": 1})
    destined = objects.RequestSpec.of(resources={"VCPU": 1}, requested_destination={"host": "h"})
    key = compute_request_key(ctxt, spec, UUIDS, {})
    assert compute_request_key(ctxt, destined, UUIDS, {}) != key
    fields = {name: field for name, field in spec.fields.items() if name != "requested_destination"}
    monkeypatch.setattr(objects.RequestSpec, "fields", fields)
    assert compute_request_key(ctxt, spec, UUIDS, {}) == key
