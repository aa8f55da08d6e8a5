# SPDX-License-Identifier: Apache-2.0
"""Deletion at every point of a boot."""

import pytest

from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.resources.claims import Answer
from scheduler_svc.core.records import ClaimResult
from scheduler_svc.endpoints import encode
from tests.unit.conductor.saga.world import CTXT, SPEC, THREE, World, uuid_list


@pytest.fixture
def world() -> World:
    created = World(THREE)
    created.conductor()
    return created


def kinds(world: World) -> list[str]:
    return [kind for kind, _, _ in world.hosts.casts]


def test_delete_before_select_claims_nothing(world: World) -> None:
    uuids = uuid_list(2)
    world.build(uuids)
    world.delete(uuids)
    world.settle()
    assert world.statuses(uuids) == ["DELETED"] * 2
    assert world.scheduler.calls == []
    world.check(uuids)


def test_delete_during_select_leaks_no_claim(world: World) -> None:
    uuids = uuid_list(3)
    select = world.scheduler.select_destinations

    def select_and_delete(*args, **kwargs):
        records = select(*args, **kwargs)
        world.delete(uuids[1:2])
        return records

    world.scheduler.select_destinations = select_and_delete  # type: ignore[method-assign]
    world.build(uuids)
    world.settle()
    assert world.statuses(uuids) == ["ACTIVE", "DELETED", "ACTIVE"]
    assert set(world.ledger.live()) == {uuids[0], uuids[2]}
    world.check(uuids)


def test_delete_during_alternate_leaks_no_claim(world: World) -> None:
    (uuid,) = uuid_list(1)
    prepare = world.claims.prepare_claims

    def prepare_and_delete(*args):
        answers = prepare(*args)
        world.delete([uuid])
        return answers

    world.claims.prepare_claims = prepare_and_delete  # type: ignore[method-assign]
    world.hosts.behaviours["h1"] = "failed"
    world.build([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    assert world.ledger.live() == {}
    assert kinds(world) == ["build"]
    world.check([uuid])


def test_delete_aborts_claim_of_build_in_flight(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.work()
    world.delete([uuid])
    world.work()
    assert world.statuses([uuid]) == ["DELETED"]
    world.settle()
    assert world.hosts.spawned_claims == set()
    world.check([uuid])


def test_delete_stops_guest_before_its_report(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "mute"
    world.build([uuid])
    world.work()
    world.hosts.deliver()
    world.delete([uuid])
    world.hosts.send_pending_reports()
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_delete_of_active_instance_stops_guest_then_releases_claim(world: World) -> None:
    uuids = uuid_list(4)
    world.build(uuids)
    world.settle()
    world.delete(uuids)
    assert world.statuses(uuids) == ["DELETING"] * 4
    world.settle()
    assert world.statuses(uuids) == ["DELETED"] * 4
    assert kinds(world) == ["build"] * 3 + ["terminate"] * 3
    world.check(uuids)


def test_instance_stays_deleting_while_host_is_unavailable(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    world.hosts.behaviours["h1"] = "lost"
    world.delete([uuid])
    world.settle(1_800_000)
    assert world.statuses([uuid]) == ["DELETING"]
    assert 5 < len(kinds(world)) < 50  # it is asked with growing pauses
    world.hosts.behaviours.clear()
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_instance_on_fenced_host_is_deleted(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    host = world.ledger.live()[uuid][0].partition("/")[0]
    world.hosts.behaviours[host] = "lost"
    world.delete([uuid])
    world.settle(1_800_000)
    assert world.statuses([uuid]) == ["DELETING"]
    world.ledger.store.fence(host)
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]


def test_delete_of_error_instance_with_kept_claim(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "mute"
    world.build([uuid])
    world.settle()
    assert "claim kept" in world.reason(uuid)
    world.delete([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_delete_of_instance_without_host(world: World) -> None:
    uuids = uuid_list(13)
    world.build(uuids)
    world.settle()
    world.delete(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"DELETED"}
    assert kinds(world) == []
    world.check(uuids)


def test_instance_stays_deleting_until_its_host_is_audited(world: World) -> None:
    """Given a claim store that may have lost a confirm, when it answers CLOSED, then the deletion waits."""
    (uuid,) = uuid_list(1)
    abort, closed = world.claims.abort_claims, [True]

    def abort_or_closed(ctxt: RequestContext, refs: objects.ClaimRefs) -> objects.ClaimAnswers:
        if not closed[0]:
            return abort(ctxt, refs)
        return encode.claim_answers([ClaimResult(*ref, Answer.CLOSED) for ref in refs.pairs()], Answer.ABORTED)

    world.claims.abort_claims = abort_or_closed  # type: ignore[method-assign, assignment]
    world.build([uuid])
    world.work()
    world.delete([uuid])
    world.settle(300_000)
    assert world.statuses([uuid]) == ["DELETING"]
    closed[0] = False
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_second_delete_is_idempotent_and_retries_at_once(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    world.hosts.behaviours["h1"] = "lost"
    world.delete([uuid])
    world.settle(1_800_000)
    world.hosts.behaviours.clear()
    world.delete([uuid])
    world.settle(0)
    assert world.statuses([uuid]) == ["DELETED"]
    world.delete([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_unknown_instance_fails_delete_before_any_change(world: World) -> None:
    current, unknown = uuid_list(2)
    world.build([current])
    world.settle()
    with pytest.raises(errors.UnknownInstance):
        world.delete([current, unknown])
    assert world.statuses([current]) == ["ACTIVE"]


def test_late_duplicate_build_does_not_recreate_deleted_instance(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    world.delete([uuid])
    world.settle()
    world.build([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_delete_works_from_every_step(world: World) -> None:
    """Given a record in each step, when it is deleted, then the claims are checked instead of the record."""
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.work()
    world.hosts.deliver()  # its host has confirmed, spawned, and is about to report
    record = world.record(uuid)
    for step in (SagaStep.CAST, SagaStep.WAIT, SagaStep.ALTERNATE, SagaStep.SETTLE):
        assert record.status == "BUILDING"
        world.store.write_without_lease([type(record)(**{**fields(record), "step": step})], wake=False)
        record = world.record(uuid)
        assert record.step == step
    world.delete([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def fields(record):
    return {name: getattr(record, name) for name in record.__dataclass_fields__}


def test_deleted_instances_are_listed_only_on_request(world: World) -> None:
    uuids = uuid_list(3)
    world.build(uuids)
    world.settle()
    world.delete(uuids[:1])
    world.settle()
    instances = world.conductors[0].instances
    assert [record.uuid for record in instances.list(None, 10, deleted=False).instances] == uuids[1:]
    shown = instances.list(None, 10, deleted=True).instances
    assert [(record.uuid, record.status) for record in shown] == list(
        zip(uuids, ["DELETED", "ACTIVE", "ACTIVE"], strict=True)
    )
    assert (shown[1].request_id, shown[1].project_id, shown[1].flavor) == (CTXT.request_id, "project", SPEC.flavor)
    assert [record.uuid for record in instances.get(list(reversed(uuids))).instances] == list(reversed(uuids))
    with pytest.raises(errors.UnknownInstance):
        instances.get(uuid_list(4))
    with pytest.raises(errors.InvalidRequest):
        instances.list(None, 0, deleted=False)
