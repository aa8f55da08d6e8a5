# SPDX-License-Identifier: Apache-2.0
"""Boots while the scheduler or the claims service answers late or not at all."""

import oslo_messaging as messaging
import pytest

from rpcapi import errors
from tests.unit.conductor.saga.ledger import TTL_MS
from tests.unit.conductor.saga.test_boot import history
from tests.unit.conductor.saga.world import CTXT, SPEC, THREE, World, uuid_list


@pytest.fixture
def world() -> World:
    created = World(THREE)
    created.conductor()
    return created


@pytest.mark.parametrize(
    "error", [messaging.MessagingTimeout("no answer"), errors.NotReady(what="worker", why="it loads")]
)
def test_select_is_retried_without_answer(world: World, error: Exception) -> None:
    uuids = uuid_list(2)
    world.scheduler.fail = [error] * 3
    world.scheduler.lose = [error]
    world.build(uuids)
    world.settle()
    assert world.scheduler.calls == [(uuids, 1)] * 5
    world.check(uuids)
    assert set(world.statuses(uuids)) == {"ACTIVE"}


def test_instances_go_to_error_without_leaks_after_select_timeout(world: World) -> None:
    uuids = uuid_list(2)
    world.scheduler.lose = [messaging.MessagingTimeout("no answer")] * 1000
    world.claims.down = messaging.MessagingTimeout("no answer")
    world.build(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"ERROR"}
    assert "No answer from the scheduler for" in world.reason(uuids[0])
    world.claims.down = None
    world.settle()
    world.check(uuids)


def test_delayed_select_cannot_claim_after_error(world: World) -> None:
    uuids = uuid_list(1)
    world.scheduler.fail = [messaging.MessagingTimeout("lost on its way")] * 1000
    world.build(uuids)
    world.settle()
    world.scheduler.fail = []
    with pytest.raises(errors.ClaimEnded):
        world.scheduler.select_destinations(CTXT, SPEC, uuids)
    world.check(uuids)


def test_alternate_is_prepared_after_claims_outage(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "failed"
    world.claims.down = errors.StoreUnavailable(why="it is away")
    world.build([uuid])
    world.settle(120_000)
    assert world.record(uuid).status == "BUILDING"
    world.claims.down = None
    world.settle()
    assert world.record(uuid).status == "ACTIVE"
    world.check([uuid])


def test_claims_ended_before_build_are_selected_again(world: World) -> None:
    uuids = uuid_list(2)
    world.ledger.ttl_ms = TTL_MS
    world.scheduler.lose = [messaging.MessagingTimeout("no answer")]
    world.build(uuids)
    world.work()
    world.now_ms += TTL_MS
    world.settle()
    assert set(world.statuses(uuids)) == {"ACTIVE"}
    assert [attempt for _, attempt in world.scheduler.calls] == [1, 1, 2]
    world.check(uuids)


def test_build_with_expired_claim_goes_to_alternate(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.ledger.ttl_ms = TTL_MS
    world.build([uuid])
    world.work()
    world.now_ms += TTL_MS
    world.settle()
    assert history(world, uuid) == [(1, "h1/n", "refused")]
    assert world.record(uuid).status == "ACTIVE"
    world.check([uuid])


def test_invalid_alternate_request_ends_instance_and_claim(world: World) -> None:
    (uuid,) = uuid_list(1)

    def refuse(*_: object) -> None:
        raise errors.InvalidRequest(why="a newer scheduler wants it otherwise")

    world.claims.prepare_claims = refuse  # type: ignore[method-assign, assignment]
    world.hosts.behaviours["h1"] = "lost"
    world.build([uuid])
    world.settle()
    assert world.reason(uuid).startswith("The request for an alternate is invalid: Invalid request: a newer scheduler")
    world.check([uuid])
