# SPDX-License-Identifier: Apache-2.0
"""Rebuilds with another image: checked against the host of each instance, carried to it, and kept for later builds."""

from dataclasses import replace
from typing import Any

import oslo_messaging as messaging
import pytest

from conductor.requests.rebuild_images import specs_with_image
from conductor.saga.step_context import load_spec
from rpcapi import errors, objects
from tests.support.conductor.simulated_cluster import CTXT, THREE, SimulatedCluster, uuid_list

UUIDS = uuid_list(2)
FIRST, SECOND = UUIDS
IMAGE = {"id": "i2", "name": "new", "properties": {"hw_architecture": "x86_64"}}


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with two ACTIVE instances, on h1 and h2."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    return created


def image_of(cluster: SimulatedCluster, uuid: str) -> dict[str, Any]:
    """Return the image in the instance's own spec; {}: it has none of its own."""
    spec = cluster.record(uuid).spec
    return {} if spec is None else load_spec(spec).image


def assert_refused(cluster: SimulatedCluster, error: type[Exception], match: str, image: Any = None) -> None:
    before = cluster.store.get(UUIDS)
    with pytest.raises(error, match=match):
        cluster.rebuild(UUIDS, IMAGE if image is None else image)
    assert cluster.store.get(UUIDS) == before and cluster.hosts.queue == []


def test_hosts_are_checked_and_get_the_image_with_the_operation(cluster: SimulatedCluster) -> None:
    cluster.rebuild(UUIDS, IMAGE)
    assert cluster.scheduler.image_checks == [(["h1/n"], IMAGE), (["h2/n"], IMAGE)]
    before = cluster.store.get(UUIDS)
    cluster.rebuild(UUIDS, IMAGE)  # repeated meanwhile
    assert cluster.store.get(UUIDS) == before
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert cluster.hosts.images == {(uuid, 1): IMAGE for uuid in UUIDS}
    assert [image_of(cluster, uuid) for uuid in UUIDS] == [IMAGE] * 2
    cluster.check(UUIDS)


def test_later_rebuilds_and_builds_are_of_the_new_image(cluster: SimulatedCluster) -> None:
    cluster.rebuild([FIRST], IMAGE)
    cluster.settle()
    cluster.hosts.images.clear()
    cluster.rebuild([FIRST])
    cluster.settle()
    assert cluster.hosts.images == {(FIRST, 1): IMAGE}
    cluster.lose_host("h1")
    cluster.compare()
    cluster.evacuate([FIRST])
    cluster.settle()
    assert cluster.scheduler.specs[-1].image == IMAGE
    assert cluster.statuses([FIRST]) == ["ACTIVE"]


def test_instance_whose_host_is_gone_is_evacuated_with_the_image(cluster: SimulatedCluster) -> None:
    cluster.lose_host("h1")
    cluster.compare()
    cluster.rebuild(UUIDS, IMAGE)
    assert cluster.scheduler.image_checks == [(["h2/n"], IMAGE)]
    cluster.settle()
    assert cluster.scheduler.specs[-1].image == IMAGE
    assert [image_of(cluster, uuid) for uuid in UUIDS] == [IMAGE] * 2
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2


def test_image_that_one_host_cannot_run_is_refused_for_all(cluster: SimulatedCluster) -> None:
    cluster.scheduler.refuse_images = {"h2"}
    match = f"h2/n cannot run instance {SECOND} with this image: 1 image properties"
    assert_refused(cluster, errors.NoValidHost, match)


@pytest.mark.parametrize(
    ("name", "value", "field"),
    [
        ("trait:CUSTOM_X", "required", "required_traits"),
        ("os_secure_boot", "required", "required_traits"),
        ("hw_tpm_version", "2.0", "required_traits"),
        ("hw_pci_numa_affinity_policy", "socket", "pci_numa_affinity_policy"),
    ],
)
def test_image_that_needs_another_claim_is_refused(
    cluster: SimulatedCluster, name: str, value: str, field: str
) -> None:
    image = {"id": "i2", "properties": {name: value}}
    assert_refused(cluster, errors.InvalidSpec, f"the image changes {field} of instance", image)
    # The same property as before is none
    record = cluster.record(FIRST)
    spec = load_spec(cluster.store.requests([record.request])[record.request].spec)
    spec.image = {"properties": {name: value}}
    changed = replace(record, spec=spec.obj_to_primitive())
    assert not cluster.store.write_without_lease([changed], wake=False).stale
    cluster.rebuild([FIRST], image)
    with pytest.raises(errors.InvalidSpec, match=f"the image changes {field} of instance"):
        specs_with_image(cluster.conductors[0], CTXT, [cluster.record(FIRST)], {"id": "i3"})


def test_server_that_boots_from_a_volume_gets_no_disk_format(cluster: SimulatedCluster) -> None:
    record = cluster.record(FIRST)
    spec = load_spec(cluster.store.requests([record.request])[record.request].spec)
    spec.volumes = [{"pool": "p", "boot": True}]
    changed = replace(record, spec=spec.obj_to_primitive())
    assert not cluster.store.write_without_lease([changed], wake=False).stale
    image = {"id": "i2", "disk_format": "qcow2", "min_disk_gb": 9}
    cluster.rebuild([FIRST], image)
    assert image_of(cluster, FIRST) == {"id": "i2", "min_disk_gb": 9}


@pytest.mark.parametrize(
    ("image", "message"),
    [
        ({"id": "i2", "min_ram_mb": 9}, "image 'i2' needs 9 MiB of memory, and flavor 'tiny' has 0"),
        ({"id": "i2", "name": "new", "min_disk_gb": 9}, "image 'new' needs 9 GiB of disk, and flavor 'tiny' has 0"),
    ],
)
def test_image_with_a_larger_minimum_than_the_flavor_is_refused(
    cluster: SimulatedCluster, image: dict[str, Any], message: str
) -> None:
    assert_refused(cluster, errors.InvalidSpec, message, image)


@pytest.mark.parametrize(
    "image",
    [{}, {"id": 7}, {"id": "i", "min_ram_mb": "1"}, {"colour": "red"}, {"id": "i", "properties": {"a": 1}}, "i2"],
)
def test_malformed_image_is_refused(cluster: SimulatedCluster, image: Any) -> None:
    assert_refused(cluster, errors.InvalidSpec, ".", image)


def test_another_image_during_a_rebuild_is_refused(cluster: SimulatedCluster) -> None:
    cluster.rebuild([FIRST], IMAGE)
    before = cluster.store.get(UUIDS)
    with pytest.raises(errors.InstanceConflict, match="it is already being rebuilt"):
        cluster.rebuild([FIRST], {"id": "i3"})
    assert cluster.store.get(UUIDS) == before


def test_scheduler_that_does_not_answer_is_unavailable(cluster: SimulatedCluster) -> None:
    cluster.scheduler.unanswered = messaging.MessagingTimeout("no answer")
    assert_refused(cluster, errors.Unavailable, "The scheduler cannot be reached")


def test_host_is_checked_for_each_flavor_of_a_request() -> None:
    cluster = SimulatedCluster({"h1/n": 8})
    cluster.conductor()
    spec = objects.RequestSpec.of(flavor="small", resources={"VCPU": 1})
    cluster.build(UUIDS, spec)
    cluster.settle()
    cluster.rebuild(UUIDS, IMAGE)
    assert len(cluster.scheduler.image_checks) == 1, "both instances have the same request"
    cluster.settle()
    encrypted = spec.with_values(flavor="secret", extra_specs={"hw:tpm_version": "2.0"}, image=IMAGE)
    cluster.resize([SECOND], encrypted)
    cluster.settle()
    cluster.confirm([SECOND])
    cluster.settle()
    cluster.scheduler.image_checks.clear()
    cluster.rebuild(UUIDS, {**IMAGE, "id": "i3"})
    assert len(cluster.scheduler.image_checks) == 2
