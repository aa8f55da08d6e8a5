# SPDX-License-Identifier: Apache-2.0
"""Deletion at every point of a boot."""

from typing import Any

import pytest

from conductor import instances
from conductor.requests import builds, requested_changes
from conductor.requests.deletion import delete
from conductor.store.records import SagaStep
from rpcapi import context, errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimResult
from scheduler_svc.endpoints import encode
from tests.support.conductor.conductors import make_conductor
from tests.support.conductor.simulated_cluster import CTXT, SPEC, THREE, SimulatedCluster, uuid_list


@pytest.fixture
def cluster() -> SimulatedCluster:
    created = SimulatedCluster(THREE)
    created.conductor()
    return created


def kinds(cluster: SimulatedCluster) -> list[str]:
    return [kind for kind, _, _ in cluster.hosts.casts]


def test_delete_before_select_claims_nothing(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.build(uuids)
    cluster.delete(uuids)
    cluster.settle()
    assert cluster.statuses(uuids) == ["DELETED"] * 2
    assert cluster.scheduler.calls == []
    cluster.check(uuids)


def test_delete_during_select_leaks_no_claim(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(3)
    select = cluster.scheduler.select_destinations

    def select_and_delete(*args, **kwargs):
        records = select(*args, **kwargs)
        cluster.delete(uuids[1:2])
        return records

    cluster.scheduler.select_destinations = select_and_delete  # type: ignore[method-assign]
    cluster.build(uuids)
    cluster.settle()
    assert cluster.statuses(uuids) == ["ACTIVE", "DELETED", "ACTIVE"]
    assert set(cluster.ledger.live()) == {uuids[0], uuids[2]}
    cluster.check(uuids)


def test_delete_during_alternate_leaks_no_claim(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    prepare = cluster.claims.prepare_claims

    def prepare_and_delete(*args):
        answers = prepare(*args)
        cluster.delete([uuid])
        return answers

    cluster.claims.prepare_claims = prepare_and_delete  # type: ignore[method-assign]
    cluster.hosts.behaviours["h1"] = "failed"
    cluster.build([uuid])
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    assert cluster.ledger.live() == {}
    assert kinds(cluster) == ["build"]
    cluster.check([uuid])


def test_delete_aborts_claim_of_build_in_flight(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.work()
    cluster.delete([uuid])
    cluster.work()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.settle()
    assert cluster.hosts.spawned_claims == set()
    cluster.check([uuid])


def test_delete_stops_guest_before_its_report(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "mute"
    cluster.build([uuid])
    cluster.work()
    cluster.hosts.deliver()
    cluster.delete([uuid])
    cluster.hosts.send_pending_reports()
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.check([uuid])


def test_delete_of_active_instance_stops_guest_then_releases_claim(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(4)
    cluster.build(uuids)
    cluster.settle()
    cluster.delete(uuids)
    assert cluster.statuses(uuids) == ["DELETING"] * 4
    cluster.settle()
    assert cluster.statuses(uuids) == ["DELETED"] * 4
    assert kinds(cluster) == ["build"] * 3 + ["terminate"] * 3
    cluster.check(uuids)


def test_instance_stays_deleting_while_host_is_unavailable(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.settle()
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.delete([uuid])
    cluster.settle(1_800_000)
    assert cluster.statuses([uuid]) == ["DELETING"]
    assert 5 < len(kinds(cluster)) < 50  # it is asked with growing pauses
    cluster.hosts.behaviours.clear()
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.check([uuid])


def test_instance_on_fenced_host_is_deleted(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.settle()
    host = cluster.ledger.live()[uuid][0].partition("/")[0]
    cluster.hosts.behaviours[host] = "lost"
    cluster.delete([uuid])
    cluster.settle(1_800_000)
    assert cluster.statuses([uuid]) == ["DELETING"]
    cluster.ledger.store.fence(host, "token-1", force=True)
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]


def test_delete_of_error_instance_with_kept_claim(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.hosts.behaviours["h1"] = "mute"
    cluster.build([uuid])
    cluster.settle()
    assert "claim kept" in cluster.reason(uuid)
    cluster.delete([uuid])
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.check([uuid])


def test_delete_of_instance_without_host(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(13)
    cluster.build(uuids)
    cluster.settle()
    cluster.delete(uuids)
    cluster.settle()
    assert set(cluster.statuses(uuids)) == {"DELETED"}
    assert kinds(cluster) == []
    cluster.check(uuids)


def test_instance_stays_deleting_until_its_host_is_audited(cluster: SimulatedCluster) -> None:
    """Given a claim store that may have lost a confirm, when it answers CLOSED, then the deletion waits."""
    (uuid,) = uuid_list(1)
    abort, closed = cluster.claims.abort_claims, [True]

    def abort_or_closed(ctxt: RequestContext, refs: objects.ClaimRefs, **options: Any) -> objects.ClaimAnswers:
        if not closed[0]:
            return abort(ctxt, refs, **options)
        return encode.claim_answers([ClaimResult(*ref, Answer.CLOSED) for ref in refs.pairs()], Answer.ABORTED)

    cluster.claims.abort_claims = abort_or_closed  # type: ignore[method-assign, assignment]
    cluster.build([uuid])
    cluster.work()
    cluster.delete([uuid])
    cluster.settle(300_000)
    assert cluster.statuses([uuid]) == ["DELETING"]
    closed[0] = False
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.check([uuid])


def test_second_delete_is_idempotent_and_retries_at_once(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.settle()
    cluster.hosts.behaviours["h1"] = "lost"
    cluster.delete([uuid])
    cluster.settle(1_800_000)
    cluster.hosts.behaviours.clear()
    cluster.delete([uuid])
    cluster.settle(0)
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.delete([uuid])
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.check([uuid])


def test_unknown_instance_fails_delete_before_any_change(cluster: SimulatedCluster) -> None:
    current, unknown = uuid_list(2)
    cluster.build([current])
    cluster.settle()
    with pytest.raises(errors.UnknownInstance):
        cluster.delete([current, unknown])
    assert cluster.statuses([current]) == ["ACTIVE"]


def test_late_duplicate_build_does_not_recreate_deleted_instance(cluster: SimulatedCluster) -> None:
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.settle()
    cluster.delete([uuid])
    cluster.settle()
    cluster.build([uuid])
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.check([uuid])


def test_delete_works_from_every_step(cluster: SimulatedCluster) -> None:
    """Given a record in each step, when it is deleted, then the claims are checked instead of the record."""
    (uuid,) = uuid_list(1)
    cluster.build([uuid])
    cluster.work()
    cluster.hosts.deliver()  # its host has confirmed, spawned, and is about to report
    record = cluster.record(uuid)
    for step in (SagaStep.CAST, SagaStep.WAIT, SagaStep.ALTERNATE, SagaStep.SETTLE):
        assert record.status == "BUILDING"
        cluster.store.write_without_lease([type(record)(**{**fields(record), "step": step})], wake=False)
        record = cluster.record(uuid)
        assert record.step == step
    cluster.delete([uuid])
    cluster.settle()
    assert cluster.statuses([uuid]) == ["DELETED"]
    cluster.check([uuid])


def fields(record):
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def test_deleted_instances_are_listed_only_on_request(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(3)
    cluster.build(uuids)
    cluster.settle()
    cluster.delete(uuids[:1])
    cluster.settle()
    conductor = cluster.conductors[0]
    left = instances.list_instances(conductor.store, None, 10, deleted=False).instances
    assert [record.uuid for record in left] == uuids[1:]
    shown = instances.list_instances(conductor.store, None, 10, deleted=True).instances
    assert [(record.uuid, record.status) for record in shown] == list(
        zip(uuids, ["DELETED", "ACTIVE", "ACTIVE"], strict=True)
    )
    assert (shown[1].request_id, shown[1].project_id, shown[1].flavor) == (CTXT.request_id, "project", SPEC.flavor)
    page = instances.get_instances(conductor, list(reversed(uuids)))
    assert [record.uuid for record in page.instances] == list(reversed(uuids))
    with pytest.raises(errors.UnknownInstance):
        instances.get_instances(conductor, uuid_list(4))
    with pytest.raises(errors.InvalidRequest):
        instances.list_instances(conductor.store, None, 0, deleted=False)


def test_client_of_a_project_deletes_its_instances_only(cluster: SimulatedCluster) -> None:
    uuids = uuid_list(2)
    cluster.build(uuids)
    conductor = make_conductor(cluster.store)
    with pytest.raises(errors.CallerRefused, match="belongs to another project"):
        requested_changes.apply(conductor, uuids, delete, "delete_instances", "other")
    assert cluster.statuses(uuids) == ["SCHEDULING"] * 2
    requested_changes.apply(conductor, uuids, delete, "delete_instances", CTXT.project_id)
    assert cluster.statuses(uuids) == ["DELETING"] * 2


def test_deletion_with_one_instance_of_another_project_changes_nothing(cluster: SimulatedCluster) -> None:
    own, other = uuid_list(2)
    cluster.build([own])
    spec = objects.RequestSpec.of(resources={"VCPU": 1})
    conductor = make_conductor(cluster.store)
    builds.build(conductor, context.new("other"), spec, [other])
    with pytest.raises(errors.CallerRefused, match=other):
        requested_changes.apply(conductor, [own, other], delete, "delete_instances", CTXT.project_id)
    assert cluster.statuses([own, other]) == ["SCHEDULING"] * 2
