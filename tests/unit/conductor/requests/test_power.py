# SPDX-License-Identifier: Apache-2.0
"""Instances that are stopped and started: accepted in which status, and with silent or fenced hosts."""

import pytest

from conductor.requests.power import start, stop
from conductor.requests.requested_changes import apply
from conductor.store.records import SagaStep
from rpcapi import errors
from rpcapi.resources.statuses import InstanceStatus
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import THREE, SimulatedCluster, uuid_list

UUIDS = uuid_list(2)


@pytest.fixture
def cluster() -> SimulatedCluster:
    """A cluster with two ACTIVE instances."""
    created = SimulatedCluster(THREE)
    created.conductor()
    created.build(UUIDS)
    created.settle()
    return created


@pytest.mark.parametrize("is_duplicated", [False, True])
def test_stopped_instances_keep_claim_and_host_until_they_are_started(
    cluster: SimulatedCluster, is_duplicated: bool
) -> None:
    cluster.hosts.duplicate = is_duplicated
    hosts = [cluster.record(uuid).host for uuid in UUIDS]
    cluster.stop(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["SHUTOFF"] * 2
    cluster.check(UUIDS)
    cluster.start(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["ACTIVE"] * 2
    assert [cluster.record(uuid).host for uuid in UUIDS] == hosts
    cluster.check(UUIDS)


def test_repeated_requests_change_nothing(cluster: SimulatedCluster) -> None:
    cluster.start(UUIDS)
    assert not [kind for kind, *_ in cluster.hosts.casts if kind == "change"]
    cluster.stop(UUIDS)
    before = cluster.store.get(UUIDS)
    cluster.stop(UUIDS)
    assert cluster.store.get(UUIDS) == before
    cluster.settle()
    before = cluster.store.get(UUIDS)
    cluster.stop(UUIDS)
    cluster.settle()
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize("status", [status for status in InstanceStatus if status not in ("ACTIVE", "SHUTOFF")])
def test_other_statuses_are_refused_and_nothing_is_changed(cluster: SimulatedCluster, status: InstanceStatus) -> None:
    # Given one instance that may be changed, and one that may not
    record = cluster.store.get(UUIDS)[UUIDS[1]]
    object.__setattr__(record, "status", status)
    cluster.store.write_without_lease([record], wake=False)
    before = cluster.store.get(UUIDS)
    for request, own in ((stop, InstanceStatus.STOPPING), (start, InstanceStatus.STARTING)):
        if status is own:
            continue
        # When both are requested, then neither is changed
        with pytest.raises(errors.InstanceConflict, match=f"it is {status}; it must be") as refusal:
            apply(make_conductor(cluster.store), UUIDS, request, "power")
        assert refusal.value.kwargs["uuid"] == UUIDS[1]
        assert cluster.store.get(UUIDS) == before


def test_unknown_instance_is_refused_before_any_change(cluster: SimulatedCluster) -> None:
    before = cluster.store.get(UUIDS)
    with pytest.raises(errors.UnknownInstance):
        cluster.stop([UUIDS[0], "ffffffff-0000-4000-8000-000000000000"])
    assert cluster.store.get(UUIDS) == before


@pytest.mark.parametrize("is_settled", [True, False], ids=["stopped", "being stopped"])
def test_delete_of_a_stopped_instance_releases_its_claim(cluster: SimulatedCluster, is_settled: bool) -> None:
    cluster.stop(UUIDS)
    if is_settled:
        cluster.settle()
    cluster.delete(UUIDS)
    cluster.settle()
    assert cluster.statuses(UUIDS) == ["DELETED"] * 2
    cluster.check(UUIDS)


def test_stop_is_repeated_until_its_host_reports(cluster: SimulatedCluster) -> None:
    host = (cluster.record(UUIDS[0]).host or "").partition("/")[0]
    cluster.hosts.behaviours[host] = "lost"
    cluster.stop(UUIDS[:1])
    cluster.settle(max_ms=600_000)
    assert cluster.statuses(UUIDS[:1]) == ["STOPPING"]
    cluster.hosts.behaviours[host] = "active"
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["SHUTOFF"]
    cluster.check(UUIDS)


def test_stop_on_a_fenced_host_ends_in_error(cluster: SimulatedCluster) -> None:
    host = (cluster.record(UUIDS[0]).host or "").partition("/")[0]
    cluster.hosts.behaviours[host] = "lost"
    cluster.stop(UUIDS[:1])
    cluster.ledger.store.fence(host, "token", force=True)
    cluster.settle()
    record = cluster.record(UUIDS[0])
    assert (record.status, record.step) == (InstanceStatus.ERROR, SagaStep.DONE)
    assert record.reason == f"host {host} no longer runs it: its claim was fenced"


def test_stopped_guest_whose_record_was_not_written_is_shown_as_such(cluster: SimulatedCluster) -> None:
    record = cluster.record(UUIDS[0])
    cluster.stop(UUIDS[:1])
    cluster.settle()
    # Given a store that forgot that the instance was stopped
    stored = cluster.record(UUIDS[0])
    object.__setattr__(record, "version", stored.version)
    cluster.store.write_without_lease([record], wake=False)
    assert cluster.statuses(UUIDS[:1]) == ["ACTIVE"]
    # When it is stopped again
    cluster.stop(UUIDS[:1])
    cluster.settle()
    assert cluster.statuses(UUIDS[:1]) == ["SHUTOFF"]
    cluster.check(UUIDS)
