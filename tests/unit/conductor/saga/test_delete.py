# SPDX-License-Identifier: Apache-2.0
"""Deleting at every point of a boot."""

import pytest

from conductor.store.records import SagaStep
from rpcapi import errors, objects
from rpcapi.context import RequestContext
from rpcapi.model.claims import Answer
from scheduler_svc.endpoints import encode
from scheduler_svc.store.records import ClaimResult
from tests.unit.conductor.saga.world import CTXT, SPEC, THREE, World, uuid_list


@pytest.fixture
def world() -> World:
    made = World(THREE)
    made.conductor()
    return made


def kinds(world: World) -> list[str]:
    return [kind for kind, _, _ in world.hosts.casts]


def test_before_the_select_nothing_is_ever_claimed(world: World) -> None:
    uuids = uuid_list(2)
    world.build(uuids)
    world.delete(uuids)
    world.settle()
    assert world.statuses(uuids) == ["DELETED"] * 2
    assert world.scheduler.calls == []
    world.check(uuids)


def test_while_the_scheduler_decides_the_claim_does_not_leak(world: World) -> None:
    uuids = uuid_list(3)
    select = world.scheduler.select_destinations

    def select_and_delete(*args, **kwargs):
        found = select(*args, **kwargs)
        world.delete(uuids[1:2])
        return found

    world.scheduler.select_destinations = select_and_delete  # type: ignore[method-assign]
    world.build(uuids)
    world.settle()
    assert world.statuses(uuids) == ["ACTIVE", "DELETED", "ACTIVE"]
    assert set(world.ledger.live()) == {uuids[0], uuids[2]}
    world.check(uuids)


def test_while_an_alternate_is_prepared_neither_claim_leaks(world: World) -> None:
    (uuid,) = uuid_list(1)
    prepare = world.claims.prepare_claims

    def prepare_and_delete(*args):
        answers = prepare(*args)
        world.delete([uuid])
        return answers

    world.claims.prepare_claims = prepare_and_delete  # type: ignore[method-assign]
    world.hosts.manners["h1"] = "failed"
    world.build([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    assert world.ledger.live() == {}
    assert kinds(world) == ["build"]
    world.check([uuid])


def test_a_build_on_its_way_finds_its_claim_aborted(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.work()
    world.delete([uuid])
    world.work()
    assert world.statuses([uuid]) == ["DELETED"]
    world.settle()
    assert world.hosts.spawned == set()
    world.check([uuid])


def test_a_guest_that_was_not_reported_yet_is_stopped(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.manners["h1"] = "mute"
    world.build([uuid])
    world.work()
    world.hosts.deliver()
    world.delete([uuid])
    world.hosts.speak()
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_what_is_active_is_stopped_and_then_released(world: World) -> None:
    uuids = uuid_list(4)
    world.build(uuids)
    world.settle()
    world.delete(uuids)
    assert world.statuses(uuids) == ["DELETING"] * 4
    world.settle()
    assert world.statuses(uuids) == ["DELETED"] * 4
    assert kinds(world) == ["build"] * 3 + ["terminate"] * 3
    world.check(uuids)


def test_while_its_host_is_away_it_stays_in_deleting(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    world.hosts.manners["h1"] = "lost"
    world.delete([uuid])
    world.settle(1_800_000)
    assert world.statuses([uuid]) == ["DELETING"]
    assert 5 < len(kinds(world)) < 50  # it is asked with growing pauses
    world.hosts.manners.clear()
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_what_ran_on_a_host_that_is_fenced_is_deleted(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    host = world.ledger.live()[uuid][0].partition("/")[0]
    world.hosts.manners[host] = "lost"
    world.delete([uuid])
    world.settle(1_800_000)
    assert world.statuses([uuid]) == ["DELETING"]
    world.ledger.store.fence(host)
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]


def test_an_instance_in_error_whose_claim_was_kept(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.manners["h1"] = "mute"
    world.build([uuid])
    world.settle()
    assert "claim kept" in world.reason(uuid)
    world.delete([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_an_instance_that_found_no_host(world: World) -> None:
    uuids = uuid_list(13)
    world.build(uuids)
    world.settle()
    world.delete(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"DELETED"}
    assert kinds(world) == []
    world.check(uuids)


def test_while_its_host_has_to_audit_first_it_stays_in_deleting(world: World) -> None:
    """Given a store of claims that may have forgotten a confirm, when it says so, then nothing is concluded."""
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


def test_twice_is_as_once_and_the_second_time_hurries(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    world.hosts.manners["h1"] = "lost"
    world.delete([uuid])
    world.settle(1_800_000)
    world.hosts.manners.clear()
    world.delete([uuid])
    world.settle(0)
    assert world.statuses([uuid]) == ["DELETED"]
    world.delete([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_an_unknown_instance_is_told_before_anything_is_done(world: World) -> None:
    known, unknown = uuid_list(2)
    world.build([known])
    world.settle()
    with pytest.raises(errors.UnknownInstance):
        world.delete([known, unknown])
    assert world.statuses([known]) == ["ACTIVE"]


def test_a_late_repetition_of_the_build_does_not_revive_it(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.build([uuid])
    world.settle()
    world.delete([uuid])
    world.settle()
    world.build([uuid])
    world.settle()
    assert world.statuses([uuid]) == ["DELETED"]
    world.check([uuid])


def test_the_wish_is_carried_out_whatever_step_was_next(world: World) -> None:
    """A record in each step, deleted there: the claims are asked, never the record's word for them."""
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


def test_the_pages_of_instances_show_it_only_where_asked(world: World) -> None:
    uuids = uuid_list(3)
    world.build(uuids)
    world.settle()
    world.delete(uuids[:1])
    world.settle()
    instances = world.conductors[0].instances
    assert [each.uuid for each in instances.list(None, 10, deleted=False).instances] == uuids[1:]
    shown = instances.list(None, 10, deleted=True).instances
    assert [(each.uuid, each.status) for each in shown] == list(
        zip(uuids, ["DELETED", "ACTIVE", "ACTIVE"], strict=True)
    )
    assert (shown[1].request_id, shown[1].project_id, shown[1].flavor) == (CTXT.request_id, "project", SPEC.flavor)
    assert [each.uuid for each in instances.get(list(reversed(uuids))).instances] == list(reversed(uuids))
    with pytest.raises(errors.UnknownInstance):
        instances.get(uuid_list(4))
    with pytest.raises(errors.InvalidRequest):
        instances.list(None, 0, deleted=False)
