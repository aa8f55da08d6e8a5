# SPDX-License-Identifier: Apache-2.0
"""Claims over several providers: of a tree, and a sharing provider of another service host."""

from collections.abc import Mapping
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.store.records import RunningClaim
from tests.unit.scheduler_svc.store.world import SHORT_MS, World, child_stats, node_stats

POOL = "san/pool"
REQUIRED = {"h1": {"VCPU": 2}, "h1/gpu0": {"CUSTOM_GPU": 1}, POOL: {"DISK_GB": 10}}
Spread = Mapping[str, Mapping[str, int]]


@pytest.fixture
def world(make_world: Any) -> World:
    """Two hosts with a GPU each, and a sharing pool of another service host."""
    world = make_world(namespaces=("aggregate",))
    for host in ("h1", "h2"):
        report(world, host)
    pool(world, 25)
    return world


def report(world: World, host: str, gpus: int = 1) -> None:
    nodes = {host: node_stats({"VCPU": 4}), f"{host}/gpu0": child_stats(host, {"CUSTOM_GPU": gpus})}
    world.store.audit(host, world.report(host, nodes).epoch, [], 60_000)


def pool(world: World, size: int, **more: Any) -> None:
    outcome = world.report("san", {POOL: {**node_stats({"DISK_GB": size}, **more), "kind": "volume"}})
    world.store.audit("san", outcome.epoch, [], 60_000)


def spread_intent(
    consumer: str, *spreads: Spread, attempt: int = 1, replaces: int | None = None, near: int = 1
) -> Intent:
    return Intent(consumer, attempt, [Candidate(next(iter(spread)), spread) for spread in spreads], replaces, near)


def on(host: str, disk: int = 10) -> Spread:
    return {host: {"VCPU": 1}, f"{host}/gpu0": {"CUSTOM_GPU": 1}, POOL: {"DISK_GB": disk}}


def batch(world: World, *intents: Intent, **options: Any) -> ClaimBatch:
    return world.batch(*intents, resources={}, **options)


def used(world: World) -> dict[str, dict[str, int]]:
    return {name: world.used(name) for name in world.store.snapshot().providers if world.used(name)}


def verdicts(world: World, claim_batch: ClaimBatch) -> list[Verdict]:
    return list(world.store.prepare(claim_batch).prepared[0].verdicts)


def test_claim_holds_and_releases_all_providers(world: World) -> None:
    answer = world.store.prepare(batch(world, spread_intent("c1", REQUIRED)))
    assert answer.accepted and answer.used == REQUIRED
    assert used(world) == REQUIRED
    assert world.store.claims()[0][0].allocations == REQUIRED
    assert world.store.confirm("h1", [ClaimRef("c1", 1)])[0].answer is Answer.CONFIRMED
    assert world.store.release("h1", [ClaimRef("c1", 1)])[0].answer is Answer.RELEASED
    assert used(world) == {}
    world.check()


@pytest.mark.parametrize("end", ["abort", "deadline", "fence", "replace"])
def test_ended_claim_releases_all_providers(world: World, end: str) -> None:
    answer = world.store.prepare(
        batch(world, spread_intent("c1", on("h1")), ttl_ms=SHORT_MS if end == "deadline" else 60_000)
    )
    if end == "abort":
        world.store.abort([ClaimRef("c1", 1)])
    elif end == "deadline":
        world.pass_deadline(answer.prepared[0])
        world.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    elif end == "fence":
        assert world.store.fence("h1") == 1
    else:
        assert world.store.prepare(batch(world, spread_intent("c1", on("h2"), attempt=2, replaces=1))).accepted
    assert used(world) == (dict(on("h2")) if end == "replace" else {})
    world.check()


def test_a_move_keeps_all_providers(world: World) -> None:
    world.store.prepare(batch(world, spread_intent("c1", REQUIRED)))
    world.store.confirm("h1", [ClaimRef("c1", 1)])
    world.store.move(ClaimRef("c1", 1), ClaimRef("m1", 1), "MIGRATION")
    assert used(world) == REQUIRED
    (claim,), _marker = world.store.claims()
    assert (claim.consumer, claim.allocations) == ("m1", REQUIRED)
    world.check()


def test_audit_reasserts_all_providers_of_a_forgotten_claim(world: World) -> None:
    epoch = world.store.snapshot().epoch
    forgotten = RunningClaim("c1", 1, True, "h1", REQUIRED, "INSTANCE", "p", "u", "req-1")
    assert world.store.audit("h1", epoch, [forgotten], 60_000).reasserted == 1
    assert used(world) == REQUIRED
    world.check()


def test_providers_of_a_candidate_are_judged_separately(world: World) -> None:
    full = {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 26}}
    unknown = {"h1": {"VCPU": 1}, "h1/gpu9": {"CUSTOM_GPU": 1}}
    lacking = {"h1": {"VCPU": 1}, POOL: {"CUSTOM_IOPS": 1}}
    fine = {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 25}}
    results = verdicts(world, batch(world, spread_intent("c1", full, unknown, lacking, fine)))
    assert results == [Verdict.FULL, Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.FITS]


def test_host_without_own_allocations_is_judged_too(world: World) -> None:
    gpu = {"h1/gpu0": {"CUSTOM_GPU": 1}}
    assert verdicts(world, batch(world, Intent("c1", 1, [Candidate("h9", gpu)]))) == [Verdict.UNKNOWN]
    assert verdicts(world, batch(world, Intent("c1", 1, [Candidate("h1", gpu)]))) == [Verdict.FITS]


def test_a_change_of_any_provider_since_the_decision_is_concurrent(world: World) -> None:
    early = batch(world, spread_intent("c2", {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 20}}))
    world.store.prepare(batch(world, spread_intent("c1", on("h2"))))
    assert verdicts(world, early) == [Verdict.CONCURRENT]


def test_near_candidate_with_a_changed_pool_is_passed(world: World) -> None:
    early = batch(world, spread_intent("c2", {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 1}}, {"h2": {"VCPU": 1}}, near=2))
    world.store.prepare(batch(world, spread_intent("c1", on("h1"))))
    assert verdicts(world, early) == [Verdict.PASSED, Verdict.FITS]


def test_changed_traits_of_a_sharing_provider_are_stale(world: World) -> None:
    early = batch(world, spread_intent("c1", on("h1"), {"h2": {"VCPU": 1}}))
    pool(world, 25, traits=["MISC_SHARES_VIA_AGGREGATE"])
    assert verdicts(world, early) == [Verdict.STALE, Verdict.FITS]


def test_disabled_service_host_makes_shared_providers_stale(world: World) -> None:
    early = batch(world, spread_intent("c1", on("h1")))
    world.store.put_state("service", "san", 1, {"enabled": False})
    assert verdicts(world, early) == [Verdict.STALE]


def test_shared_provider_is_closed_until_its_host_audits(world: World) -> None:
    epoch = world.new_epoch()
    world.store.audit("h1", epoch, [], 60_000)
    assert verdicts(world, batch(world, spread_intent("c1", on("h1")))) == [Verdict.CLOSED]
    world.store.audit("san", epoch, [], 60_000)
    assert verdicts(world, batch(world, spread_intent("c1", on("h1")))) == [Verdict.FITS]


def test_host_with_shared_claims_is_not_removed(world: World) -> None:
    world.store.prepare(batch(world, spread_intent("c1", on("h1"))))
    before = world.store.snapshot()
    with pytest.raises(errors.Conflict, match="claims on other hosts hold what it shares"):
        world.store.remove("san")
    assert world.store.snapshot() == before
    world.pass_deadline_of("c1")
    world.store.remove("san")
    assert POOL not in world.store.snapshot().providers
    world.check()


def test_claims_of_a_batch_count_on_a_shared_provider(world: World) -> None:
    answer = world.store.prepare(batch(world, spread_intent("c1", on("h1", 15)), spread_intent("c2", on("h2", 15))))
    assert not answer.accepted and used(world) == {}
    assert [tuple(result.verdicts) for result in answer.prepared] == [("FITS",), ("FULL",)]
    answer = world.store.prepare(
        batch(world, spread_intent("c1", on("h1", 15)), spread_intent("c2", on("h2", 15), on("h2", 10)))
    )
    assert answer.accepted
    assert world.used(POOL) == {"DISK_GB": 25}
    world.check()


def test_units_of_all_providers_are_checked(world: World) -> None:
    report(world, "h1", gpus=4)
    outcome = world.report("san", {POOL: {**node_stats({"DISK_GB": 100}, step_size=10, max_unit=30), "kind": "volume"}})
    world.store.audit("san", outcome.epoch, [], 60_000)
    results = [verdicts(world, batch(world, spread_intent(f"c{disk}", on("h1", disk)))) for disk in (15, 40, 30)]
    assert results == [[Verdict.FULL], [Verdict.FULL], [Verdict.FITS]]


def test_largest_batch_of_largest_claims(world: World) -> None:
    parts = {f"h1/part{n}": child_stats("h1", {"CUSTOM_PART": 100}) for n in range(63)}
    outcome = world.report("h1", {"h1": node_stats({"VCPU": 100}), **parts})
    world.store.audit("h1", outcome.epoch, [], 60_000)
    everything = {"h1": {"VCPU": 1}, **{name: {"CUSTOM_PART": 1} for name in parts}}
    answer = world.store.prepare(batch(world, *(spread_intent(f"c{n}", everything) for n in range(100))))
    assert answer.accepted and answer.used["h1/part62"] == {"CUSTOM_PART": 100}
    world.check()


def test_thousands_of_providers_are_read_in_one_batch(world: World) -> None:
    many = {f"wide/n{n}": node_stats({"VCPU": 1}) for n in range(4000)}
    world.store.audit("wide", world.report("wide", many).epoch, [], 60_000)
    names = sorted(many)
    spreads = [{name: {"VCPU": 1} for name in names[64 * n : 64 * n + 64]} for n in range(60)]
    answer = world.store.prepare(batch(world, *(spread_intent(f"c{n}", spread) for n, spread in enumerate(spreads))))
    assert answer.accepted and len(answer.used) == 60 * 64
