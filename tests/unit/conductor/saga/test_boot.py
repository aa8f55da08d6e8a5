# SPDX-License-Identifier: Apache-2.0
"""Successful and failed boots with a conductor that does not crash."""

from dataclasses import replace

import pytest

from rpcapi import errors, objects
from tests.unit.conductor.saga.world import CTXT, LIMITS, SPEC, THREE, World, uuid_list


@pytest.fixture
def world() -> World:
    created = World(THREE)
    created.conductor()
    return created


def history(world: World, uuid: str) -> list[tuple[int, str, str]]:
    return [(entry["attempt"], entry["host"], entry["outcome"]) for entry in world.record(uuid).history]


def test_request_needs_one_decision_and_one_message_per_host(world: World) -> None:
    uuids = uuid_list(6)
    world.build(uuids)
    assert set(world.statuses(uuids)) == {"SCHEDULING"}
    world.settle()
    assert set(world.statuses(uuids)) == {"ACTIVE"}
    assert world.scheduler.calls == [(uuids, 1)]
    assert sorted(host for _, host, _ in world.hosts.casts) == ["h1", "h2", "h3"]
    world.check(uuids)


def test_repeated_request_is_idempotent(world: World) -> None:
    uuids = uuid_list(2)
    world.build(uuids)
    world.build(list(reversed(uuids)))
    world.settle()
    world.build(uuids)
    world.settle()
    assert world.scheduler.calls == [(uuids, 1)]
    world.check(uuids)


def test_uuid_of_another_request_raises_conflict_and_records_nothing(world: World) -> None:
    first, second = uuid_list(2)
    world.build([first])
    with pytest.raises(errors.InstanceConflict):
        world.build([second, first])
    with pytest.raises(errors.InstanceConflict):
        world.build([first], objects.RequestSpec.of(resources={"VCPU": 2}))
    assert world.store.get([second]) == {}


@pytest.mark.parametrize(
    ("spec", "uuids", "error"),
    [
        (objects.RequestSpec.of(resources={}), 1, errors.InvalidSpec),
        (objects.RequestSpec.of(resources={"VCPU": -1}), 1, errors.InvalidSpec),
        (objects.RequestSpec.of(resources={"VCPU": 1}, required_traits=["NONE"]), 1, errors.UnknownTrait),
        (SPEC, 0, errors.InvalidCount),
        (SPEC, 1001, errors.InvalidCount),
    ],
)
def test_invalid_request_is_refused_and_not_recorded(
    world: World, spec: objects.RequestSpec, uuids: int, error: type[Exception]
) -> None:
    with pytest.raises(error):
        world.build(uuid_list(uuids), spec)
    assert world.store.page(None, 10, deleted=True).instances == []


def test_no_valid_host_sets_error_with_reason(world: World) -> None:
    uuids = uuid_list(13)
    world.build(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"ERROR"}
    assert "No valid host" in world.reason(uuids[0])
    assert "Traceback" not in world.reason(uuids[0])
    world.check(uuids)


@pytest.mark.parametrize("behaviour", ["refused", "failed"])
def test_alternate_is_used_after_host_fails(world: World, behaviour: str) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = behaviour
    world.build([uuid])
    world.settle()
    assert (world.record(uuid).host, world.record(uuid).attempt) == ("h2/n", 2)
    assert history(world, uuid) == [(1, "h1/n", behaviour)]
    assert len(world.scheduler.calls) == 1
    world.check([uuid])


def test_error_reason_lists_every_attempt(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours.update({"h1": "refused", "h2": "failed", "h3": "refused"})
    world.build([uuid])
    world.settle()
    assert history(world, uuid) == [(1, "h1/n", "refused"), (2, "h2/n", "failed"), (3, "h3/n", "refused")]
    for part in ("All 3 attempts", "attempt 1 on h1/n refused", "attempt 2 on h2/n failed: the spawn failed", "h3/n"):
        assert part in world.reason(uuid)
    world.check([uuid])


def test_refusal_without_alternate_sets_error() -> None:
    world = World({"h1/n": 4})
    world.conductor()
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "refused"
    world.build([uuid])
    world.settle()
    assert world.reason(uuid).startswith("No alternate is left; attempt 1 on h1/n refused")
    world.check([uuid])


def test_full_alternate_is_named_in_the_reason(world: World) -> None:
    world.limits = replace(LIMITS, max_attempts=2)
    world.conductors.clear()
    world.conductor()
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "refused"
    fill(world, "h2/n", 4)
    world.build([uuid])
    world.settle()
    assert "no alternate accepts it: h2/n: " in world.reason(uuid).lower()
    assert world.ledger.live().keys() == {f"other-h2/n-{number}" for number in range(4)}


def test_instance_with_full_alternates_does_not_block_others() -> None:
    world = World({"h1/n": 5, "h2/n": 3, "h3/n": 0})
    world.conductor()
    uuids = uuid_list(5)
    spec = objects.RequestSpec.of(resources={"VCPU": 1}, force_hosts=["h1"])
    world.ledger.nodes = ["h1/n"]
    world.hosts.behaviours["h1"] = "failed"
    world.build(uuids, spec)
    world.work()
    for uuid in uuids:
        record = world.record(uuid)
        world.store.write_without_lease([replace(record, alternates=("h2/n", "h3/n"))], wake=False)
    world.settle()
    assert sorted(world.statuses(uuids)) == ["ACTIVE"] * 3 + ["ERROR"] * 2
    world.check(uuids)


def test_unreachable_host_costs_build_timeout_and_an_attempt(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "lost"
    began = world.now_ms
    world.build([uuid])
    world.settle()
    assert history(world, uuid) == [(1, "h1/n", "timeout")]
    assert world.record(uuid).status == "ACTIVE"
    assert world.now_ms - began >= LIMITS.build_timeout_ms
    world.check([uuid])


def test_silent_host_keeps_confirmed_claim_and_no_second_guest_is_built(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "mute"
    world.build([uuid])
    world.settle()
    record = world.record(uuid)
    assert record.status == "ERROR"
    assert "Host unreachable, claim kept" in world.reason(uuid)
    assert {cast[:2] for cast in world.hosts.casts} == {("build", "h1")}
    assert world.ledger.live() == {uuid: ("h1/n", 1, "confirmed")}

    world.hosts.send_pending_reports()
    world.settle()

    assert world.record(uuid).status == "ACTIVE"
    world.check([uuid])


def test_silent_host_can_answer_the_repeated_build(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "mute"
    world.build([uuid])
    world.settle(LIMITS.build_timeout_ms - 1)
    world.hosts.behaviours.clear()
    world.settle()
    assert world.record(uuid).status == "ACTIVE"
    assert world.record(uuid).attempt == 1
    world.check([uuid])


def test_duplicate_messages_change_nothing(world: World) -> None:
    uuids = uuid_list(4)
    world.hosts.duplicate = True
    world.hosts.behaviours.update({(uuids[0], 1): "refused", (uuids[1], 1): "failed"})
    world.build(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"ACTIVE"}
    assert [len(world.record(uuid).history) for uuid in uuids] == [1, 1, 0, 0]
    world.delete(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"DELETED"}
    world.check(uuids)


def test_hundreds_of_instances_need_few_calls() -> None:
    world = World({f"h{number}/n": 40 for number in range(10)})
    world.conductor()
    world.ledger.nodes = world.ledger.nodes[:10]
    uuids = uuid_list(100)
    world.hosts.behaviours["h3"] = "failed"
    world.build(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"ACTIVE"}
    assert len(world.scheduler.calls) == 1
    assert world.claims.calls == ["prepare"]
    # Ten hosts for the first attempts, one for all alternates of the one that failed.
    assert len(world.hosts.casts) == 11
    world.check(uuids)


def fill(world: World, node: str, count: int) -> None:
    nodes, world.ledger.nodes = world.ledger.nodes, [node]
    world.scheduler.select_destinations(CTXT, SPEC, [f"other-{node}-{number}" for number in range(count)])
    world.ledger.nodes = nodes
    world.scheduler.calls.clear()


def test_instances_beyond_call_limit_use_several_calls() -> None:
    world = World({f"h{number}/n": 600 for number in range(3)})
    world.conductor()
    uuids = uuid_list(600)
    world.hosts.behaviours["h0"] = "failed"
    world.build(uuids)
    world.settle()
    assert set(world.statuses(uuids)) == {"ACTIVE"}
    assert world.claims.calls == ["prepare", "prepare"]
    world.delete(uuids)
    world.settle()
    assert [cast[:2] for cast in world.hosts.casts if cast[0] == "terminate"] == [
        ("terminate", "h1"),
        ("terminate", "h2"),
    ]
    world.check(uuids)
