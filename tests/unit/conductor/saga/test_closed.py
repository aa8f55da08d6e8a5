# SPDX-License-Identifier: Apache-2.0
"""Boots after the start of a new epoch, in which hosts accept nothing before their audit."""

from dataclasses import replace

import pytest

from tests.unit.conductor.saga.test_boot import history
from tests.unit.conductor.saga.world import LIMITS, THREE, World, uuid_list


@pytest.fixture
def world() -> World:
    created = World(THREE)
    created.conductor()
    return created


def refuse(world: World, uuids: list[str], refused: list[str]) -> None:
    """Refuse first attempts, and begin a new epoch before alternates are prepared."""
    world.hosts.behaviours.update({(uuid, 1): "refused" for uuid in refused})
    world.build(uuids)
    world.work()
    world.hosts.deliver()
    world.ledger.forget()
    world.hosts.deliver()


def test_select_waits_for_unaudited_hosts(world: World) -> None:
    uuids = uuid_list(2)
    world.ledger.forget()
    world.build(uuids)
    world.settle(20_000)
    assert set(world.statuses(uuids)) == {"SCHEDULING"}
    assert len(world.scheduler.calls) > 1

    world.ledger.audit("h2")
    world.settle()

    assert set(world.statuses(uuids)) == {"ACTIVE"}
    assert {world.record(uuid).host for uuid in uuids} == {"h2/n"}
    assert {attempt for _, attempt in world.scheduler.calls} == {1}
    world.check(uuids)


def test_unaudited_hosts_are_the_error_reason_after_timeout(world: World) -> None:
    uuids = uuid_list(2)
    world.ledger.forget()
    world.build(uuids)
    world.settle(LIMITS.select_timeout_ms - 1)
    assert set(world.statuses(uuids)) == {"SCHEDULING"}
    world.settle()
    assert set(world.statuses(uuids)) == {"ERROR"}
    assert world.reason(uuids[0]) == "No valid host: 3 not audited in this epoch"
    for host in ("h1", "h2", "h3"):
        world.ledger.audit(host)
    world.settle()
    world.check(uuids)


def test_request_refused_by_audited_hosts_waits_for_the_others(world: World) -> None:
    uuids = uuid_list(5)  # more than one host has room for
    world.ledger.forget()
    world.ledger.audit("h1")
    world.build(uuids)
    world.settle(20_000)
    assert set(world.statuses(uuids)) == {"SCHEDULING"}
    world.ledger.audit("h3")
    world.settle()
    assert set(world.statuses(uuids)) == {"ACTIVE"}
    world.check(uuids)


def test_refusal_by_audited_hosts_is_final(world: World) -> None:
    uuids = uuid_list(13)
    world.build(uuids)
    world.work()
    assert len(world.scheduler.calls) == 1
    assert set(world.statuses(uuids)) == {"ERROR"}


def test_alternate_waits_for_its_audit(world: World) -> None:
    uuids = uuid_list(3)
    refuse(world, uuids, uuids[:2])
    world.settle(20_000)
    assert world.statuses(uuids) == ["BUILDING", "BUILDING", "ACTIVE"]
    assert world.claims.calls.count("prepare") > 1

    for host in ("h1", "h2", "h3"):
        world.ledger.audit(host)
    world.settle()

    assert set(world.statuses(uuids)) == {"ACTIVE"}
    assert history(world, uuids[0]) == [(1, "h1/n", "refused")]
    assert world.record(uuids[0]).attempt == 2
    world.check(uuids)


def test_alternate_without_audit_ends_with_its_reason(world: World) -> None:
    (uuid,) = uuid_list(1)
    refuse(world, [uuid], [uuid])
    world.settle(LIMITS.build_timeout_ms - 1)
    assert world.statuses([uuid]) == ["BUILDING"]
    world.settle()
    assert world.statuses([uuid]) == ["ERROR"]
    assert world.reason(uuid).startswith("No alternate accepts it: h2/n: CLOSED, h3/n: CLOSED; attempt 1 on h1/n")
    world.check([uuid])


def test_only_instances_with_unaudited_alternates_wait() -> None:
    world = World({"h1/n": 4, "h2/n": 0, "h3/n": 4})
    world.conductor()
    full, closed = uuid_list(2)
    world.ledger.nodes = ["h1/n"]
    refuse(world, [full, closed], [full, closed])
    for uuid, alternates in ((full, ("h2/n",)), (closed, ("h2/n", "h3/n"))):
        world.store.write_without_lease([replace(world.record(uuid), alternates=alternates)], wake=True)
    world.ledger.audit("h1")
    world.ledger.audit("h2")
    world.settle(20_000)
    assert world.statuses([full, closed]) == ["ERROR", "BUILDING"]
    assert "No alternate accepts it: h2/n: FULL" in world.reason(full)
    world.ledger.audit("h3")
    world.settle()
    assert world.statuses([full, closed]) == ["ERROR", "ACTIVE"]
    world.check([full, closed])


def test_silent_host_with_unaudited_alternates(world: World) -> None:
    (uuid,) = uuid_list(1)
    world.hosts.behaviours["h1"] = "lost"
    world.build([uuid])
    world.settle(1000)
    world.ledger.forget()
    world.ledger.audit("h1")
    world.settle(LIMITS.build_timeout_ms + 60_000)
    assert world.statuses([uuid]) == ["BUILDING"]
    world.ledger.audit("h2")
    world.settle()
    assert world.statuses([uuid]) == ["ACTIVE"]
    assert world.record(uuid).host == "h2/n"
    world.ledger.audit("h3")
    world.check([uuid])
