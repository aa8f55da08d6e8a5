# SPDX-License-Identifier: Apache-2.0
"""Instances as the conductor returns them."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from conductor import instances
from conductor.collaborators import Conductor
from conductor.requests import builds
from conductor.store.interface import PAGE
from conductor.store.memory import MemoryConductorStore
from rpcapi import context, errors, objects
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import SPEC, SimulatedCluster, uuid_list

UUIDS = uuid_list(3)


@pytest.fixture
def store() -> MemoryConductorStore:
    created = MemoryConductorStore(clock=lambda: 1000)
    ctxt = context.new("project", "user", request_id="req-1")
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, flavor="tiny")
    builds.build(make_conductor(created), ctxt, spec, UUIDS, ["x", "y", "z"])
    return created


@pytest.fixture
def conductor(store: MemoryConductorStore) -> Conductor:
    return make_conductor(store, max_instances=2)


def test_instance_has_the_fields_of_record_and_request(conductor: Conductor, store: MemoryConductorStore) -> None:
    ended = {"attempt": 1, "host": "h/n", "outcome": "failed", "reason": "r"}
    record = replace(
        store.get(UUIDS)[UUIDS[1]], status=InstanceStatus.ERROR, host="g/n", attempt=2, history=[ended], reason="why"
    )
    store.write_without_lease([record], wake=False)
    (instance,) = instances.get_instances(conductor, [UUIDS[1]]).instances
    assert (instance.uuid, instance.name, instance.flavor) == (UUIDS[1], "y", "tiny")
    assert (instance.request_id, instance.project_id, instance.user_id) == ("req-1", "project", "user")
    assert (instance.status, instance.host, instance.attempt, instance.reason) == ("ERROR", "g/n", 2, "why")
    assert (instance.history, instance.created_ms, instance.updated_ms) == ([ended], 1000, 1000)


def test_instance_names_its_server_group() -> None:
    cluster = SimulatedCluster({"h/n": 8})
    cluster.conductor()
    cluster.build(UUIDS[:1], SPEC.with_values(group_id="g", group_policy="affinity"))
    cluster.build(UUIDS[1:2], SPEC)
    page = instances.list_instances(cluster.store, None, 9, deleted=False)
    assert [instance.group_id for instance in page.instances] == ["g", None]


def test_instances_are_in_the_order_of_the_call(conductor: Conductor) -> None:
    uuids = [UUIDS[2], UUIDS[0]]
    page = instances.get_instances(conductor, uuids)
    assert ([instance.uuid for instance in page.instances], page.marker) == (uuids, None)


def test_unknown_instance_is_named(conductor: Conductor) -> None:
    unknown = uuid_list(4)[3]
    with pytest.raises(errors.UnknownInstance, match=unknown):
        instances.get_instances(conductor, [UUIDS[0], unknown])


@pytest.mark.parametrize(
    ("uuids", "error"),
    [
        (UUIDS, errors.InvalidCount),
        ([], errors.InvalidCount),
        (["x"], errors.InvalidName),
        ("x", errors.InvalidRequest),
    ],
)
def test_invalid_uuids_are_rejected(conductor: Conductor, uuids: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        instances.get_instances(conductor, uuids)


def test_pages_lead_to_each_instance_once(conductor: Conductor) -> None:
    first = instances.list_instances(conductor.store, None, 2, deleted=False)
    second = instances.list_instances(conductor.store, first.marker, 2, deleted=False)
    assert [instance.uuid for page in (first, second) for instance in page.instances] == UUIDS
    assert second.marker is None


@pytest.mark.parametrize(("deleted", "uuids"), [(False, UUIDS[1:]), (True, UUIDS)])
def test_deleted_instances_are_listed_on_request(
    conductor: Conductor, store: MemoryConductorStore, deleted: bool, uuids: list[str]
) -> None:
    record = replace(store.get(UUIDS)[UUIDS[0]], status=InstanceStatus.DELETED)
    store.write_without_lease([record], wake=False)
    page = instances.list_instances(conductor.store, None, 10, deleted=deleted)
    assert [instance.uuid for instance in page.instances] == uuids


@pytest.mark.parametrize("limit", [0, -1])
def test_invalid_limit_is_rejected(conductor: Conductor, limit: int) -> None:
    with pytest.raises(errors.InvalidRequest, match="limit must be a positive integer"):
        instances.list_instances(conductor.store, None, limit, deleted=False)


def test_invalid_marker_is_rejected(conductor: Conductor) -> None:
    with pytest.raises(errors.InvalidRequest, match="marker"):
        instances.list_instances(conductor.store, "no-marker", 10, deleted=False)


def test_large_limit_is_reduced_to_a_page_of_the_store(
    conductor: Conductor, store: MemoryConductorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits: list[int] = []
    page: Callable = store.page

    def recording_page(marker: str | None, limit: int, *, deleted: bool) -> object:
        limits.append(limit)
        return page(marker, limit, deleted=deleted)

    monkeypatch.setattr(store, "page", recording_page)
    instances.list_instances(conductor.store, None, 10 * PAGE, deleted=False)
    assert limits == [PAGE]


def test_instance_of_a_request_purged_meanwhile_is_left_out(
    conductor: Conductor, store: MemoryConductorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "requests", lambda keys: {})
    assert instances.list_instances(conductor.store, None, 10, deleted=False).instances == []


def test_hosts_of_a_partition_are_those_of_its_records_but_deleted_ones(
    conductor: Conductor, store: MemoryConductorStore
) -> None:
    places = [
        ("a/1", "p", InstanceStatus.ACTIVE),
        ("b/1", "p", InstanceStatus.DELETED),
        ("c/1", "q", InstanceStatus.ERROR),
    ]
    records = store.get(UUIDS)
    store.write_without_lease(
        [
            replace(records[uuid], host=host, partition=partition, status=status)
            for uuid, (host, partition, status) in zip(UUIDS, places, strict=True)
        ],
        wake=False,
    )
    assert [instances.list_hosts(conductor.store, partition).hosts for partition in ("p", "q", "r")] == [
        ["a"],
        ["c"],
        [],
    ]


OTHERS = uuid_list(7)[3:]


@pytest.fixture
def two_projects(store: MemoryConductorStore) -> MemoryConductorStore:
    """The store, with four more instances of another project."""
    spec = objects.RequestSpec.of(resources={"VCPU": 1})
    builds.build(make_conductor(store), context.new("other", "user"), spec, OTHERS)
    return store


def test_instances_of_another_project_are_refused(conductor: Conductor, two_projects: MemoryConductorStore) -> None:
    assert [instance.uuid for instance in instances.get_instances(conductor, UUIDS[:2], "project").instances] == UUIDS[
        :2
    ]
    for uuids in ([OTHERS[0]], [UUIDS[0], OTHERS[0]]):
        with pytest.raises(errors.CallerRefused, match=f"instance {OTHERS[0]} belongs to another project"):
            instances.get_instances(conductor, uuids, "project")


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
@pytest.mark.parametrize(("project", "uuids"), [("project", UUIDS), ("other", OTHERS), ("third", [])])
def test_list_of_a_project_has_each_of_its_instances_once(
    conductor: Conductor, two_projects: MemoryConductorStore, project: str, uuids: list[str], limit: int
) -> None:
    listed, marker = [], None
    while True:
        page = instances.list_instances(conductor.store, marker, limit, deleted=False, project=project)
        assert len(page.instances) <= limit
        listed += [instance.uuid for instance in page.instances]
        marker = page.marker
        if marker is None:
            break
    assert listed == uuids


def test_list_of_a_project_goes_on_behind_a_page_without_its_instances(
    conductor: Conductor, two_projects: MemoryConductorStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor.instances.PAGE", 2)
    pages = [instances.list_instances(conductor.store, None, 2, deleted=False, project="other")]
    while pages[-1].marker is not None:
        pages.append(instances.list_instances(conductor.store, pages[-1].marker, 2, deleted=False, project="other"))
    assert [[instance.uuid for instance in page.instances] for page in pages] == [
        [],
        OTHERS[:1],
        OTHERS[1:3],
        OTHERS[3:],
    ]
