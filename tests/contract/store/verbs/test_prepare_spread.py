# SPDX-License-Identifier: Apache-2.0
"""Claims over several providers: of a tree, and a sharing provider of another service host."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import Candidate, ClaimBatch, ClaimRef, Intent
from scheduler_svc.store.records import RunningClaim
from tests.support.store.store_partition import SHORT_MS, StorePartition, child_stats, node_stats

POOL = "san/pool"
REQUIRED = {"h1": {"VCPU": 2}, "h1/gpu0": {"CUSTOM_GPU": 1}, POOL: {"DISK_GB": 10}}
Spread = Mapping[str, Mapping[str, int]]


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    """Two hosts with a GPU each, and a sharing pool of another service host."""
    partition = make_partition(namespaces=("aggregate",))
    for host in ("h1", "h2"):
        report(partition, host)
    pool(partition, 25)
    return partition


def report(partition: StorePartition, host: str, gpus: int = 1) -> None:
    nodes = {host: node_stats({"VCPU": 4}), f"{host}/gpu0": child_stats(host, {"CUSTOM_GPU": gpus})}
    partition.store.audit(host, partition.report(host, nodes).epoch, [], 60_000)


def pool(partition: StorePartition, size: int, traits: Sequence[str] = (SHARING_TRAIT,), **more: Any) -> None:
    more["traits"] = traits
    outcome = partition.report("san", {POOL: {**node_stats({"DISK_GB": size}, **more), "kind": "volume"}})
    partition.store.audit("san", outcome.epoch, [], 60_000)


def spread_intent(
    consumer: str, *spreads: Spread, attempt: int = 1, replaces: int | None = None, near: int = 1
) -> Intent:
    return Intent(consumer, attempt, [Candidate(next(iter(spread)), spread) for spread in spreads], replaces, near)


def on(host: str, disk: int = 10) -> Spread:
    return {host: {"VCPU": 1}, f"{host}/gpu0": {"CUSTOM_GPU": 1}, POOL: {"DISK_GB": disk}}


def batch(partition: StorePartition, *intents: Intent, **options: Any) -> ClaimBatch:
    return partition.batch(*intents, resources={}, **options)


def used(partition: StorePartition) -> dict[str, dict[str, int]]:
    return {name: partition.used(name) for name in partition.store.snapshot().providers if partition.used(name)}


def verdicts(partition: StorePartition, claim_batch: ClaimBatch) -> list[Verdict]:
    return list(partition.store.prepare(claim_batch).prepared[0].verdicts)


def test_claim_holds_and_releases_all_providers(partition: StorePartition) -> None:
    answer = partition.store.prepare(batch(partition, spread_intent("c1", REQUIRED)))
    assert answer.accepted and answer.used == {
        name: {**amounts, "claims": 1} | ({} if name.startswith("h1") else {"foreign_claims": 1})
        for name, amounts in REQUIRED.items()
    }
    assert used(partition) == REQUIRED
    assert partition.store.claims()[0][0].allocations == REQUIRED
    assert partition.store.confirm("h1", [ClaimRef("c1", 1)])[0].answer is Answer.CONFIRMED
    assert partition.store.release("h1", [ClaimRef("c1", 1)])[0].answer is Answer.RELEASED
    assert used(partition) == {}
    partition.check()


@pytest.mark.parametrize("end", ["abort", "deadline", "fence", "replace"])
def test_ended_claim_releases_all_providers(partition: StorePartition, end: str) -> None:
    answer = partition.store.prepare(
        batch(partition, spread_intent("c1", on("h1")), ttl_ms=SHORT_MS if end == "deadline" else 60_000)
    )
    if end == "abort":
        partition.store.abort([ClaimRef("c1", 1)])
    elif end == "deadline":
        partition.pass_deadline(answer.prepared[0])
        partition.store.reap(dead_after_ms=None, tombstone_ms=60_000)
    elif end == "fence":
        assert partition.fence("h1") == 1
    else:
        assert partition.store.prepare(batch(partition, spread_intent("c1", on("h2"), attempt=2, replaces=1))).accepted
    assert used(partition) == (dict(on("h2")) if end == "replace" else {})
    partition.check()


def test_a_move_keeps_all_providers(partition: StorePartition) -> None:
    partition.store.prepare(batch(partition, spread_intent("c1", REQUIRED)))
    partition.store.confirm("h1", [ClaimRef("c1", 1)])
    partition.store.begin_moves([ClaimRef("c1", 1)], ["m1"])
    assert used(partition) == REQUIRED
    (claim,), _marker = partition.store.claims()
    assert (claim.consumer, claim.allocations) == ("m1", REQUIRED)
    partition.check()


def test_audit_reasserts_all_providers_of_a_forgotten_claim(partition: StorePartition) -> None:
    epoch = partition.new_epoch()
    forgotten = RunningClaim("c1", 1, True, "h1", REQUIRED, "INSTANCE", "p", "u", "req-1")
    assert partition.store.audit("h1", epoch, [forgotten], 60_000).reasserted == 1
    assert used(partition) == REQUIRED
    partition.check()


def test_providers_of_a_candidate_are_judged_separately(partition: StorePartition) -> None:
    full = {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 26}}
    unknown = {"h1": {"VCPU": 1}, "h1/gpu9": {"CUSTOM_GPU": 1}}
    lacking = {"h1": {"VCPU": 1}, POOL: {"CUSTOM_IOPS": 1}}
    fine = {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 25}}
    results = verdicts(partition, batch(partition, spread_intent("c1", full, unknown, lacking, fine)))
    assert results == [Verdict.FULL, Verdict.UNKNOWN, Verdict.UNKNOWN, Verdict.FITS]


def test_host_without_own_allocations_conflicts_on_change_too(partition: StorePartition) -> None:
    gpu = {"h1/gpu0": {"CUSTOM_GPU": 1}}
    assert verdicts(partition, batch(partition, Intent("c1", 1, [Candidate("h9", gpu)]))) == [Verdict.UNKNOWN]
    assert verdicts(partition, batch(partition, Intent("c1", 1, [Candidate("h1", gpu)]))) == [Verdict.FITS]


def test_a_change_of_any_provider_since_the_decision_is_concurrent(partition: StorePartition) -> None:
    early = batch(partition, spread_intent("c2", {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 20}}))
    partition.store.prepare(batch(partition, spread_intent("c1", on("h2"))))
    assert verdicts(partition, early) == [Verdict.CONCURRENT]


def test_near_candidate_with_a_changed_pool_is_passed(partition: StorePartition) -> None:
    early = batch(
        partition, spread_intent("c2", {"h1": {"VCPU": 1}, POOL: {"DISK_GB": 1}}, {"h2": {"VCPU": 1}}, near=2)
    )
    partition.store.prepare(batch(partition, spread_intent("c1", on("h1"))))
    assert verdicts(partition, early) == [Verdict.PASSED, Verdict.FITS]


def test_changed_traits_of_a_sharing_provider_are_stale(partition: StorePartition) -> None:
    early = batch(partition, spread_intent("c1", on("h1"), {"h2": {"VCPU": 1}}))
    pool(partition, 25, traits=[SHARING_TRAIT, "CUSTOM_FAST"])
    assert verdicts(partition, early) == [Verdict.STALE, Verdict.FITS]


def test_disabled_service_host_makes_shared_providers_stale(partition: StorePartition) -> None:
    early = batch(partition, spread_intent("c1", on("h1")))
    partition.store.put_state("service", "san", 1, {"enabled": False})
    assert verdicts(partition, early) == [Verdict.STALE]


def test_shared_provider_is_closed_until_every_host_that_may_hold_from_it_audits(partition: StorePartition) -> None:
    before = partition.mark()
    forgotten = partition.store.prepare(batch(partition, spread_intent("c2", on("h2", disk=20))))
    partition.store.confirm("h2", [ClaimRef("c2", 1)])
    epoch = partition.forget_since(before)
    for host in ("h1", "san"):
        partition.store.audit(host, epoch, [], 60_000)
        assert verdicts(partition, batch(partition, spread_intent("c1", on("h1")))) == [Verdict.CLOSED]
    live = forgotten.prepared[0].allocations
    assert live is not None
    partition.store.audit("h2", epoch, [RunningClaim("c2", 1, True, "h2", live, "INSTANCE", "p", "u", "r")], 60_000)
    assert verdicts(partition, batch(partition, spread_intent("c1", on("h1")))) == [Verdict.FULL]
    assert verdicts(partition, batch(partition, spread_intent("c1", on("h1", disk=5)))) == [Verdict.FITS]
    assert not partition.check().excess


def test_host_without_shared_providers_waits_for_its_own_audit_only(partition: StorePartition) -> None:
    epoch = partition.new_epoch()
    partition.store.audit("h1", epoch, [], 60_000)
    own = {"h1": {"VCPU": 1}, "h1/gpu0": {"CUSTOM_GPU": 1}}
    assert verdicts(partition, batch(partition, spread_intent("c1", own))) == [Verdict.FITS]


def test_host_with_shared_claims_is_not_removed(partition: StorePartition) -> None:
    partition.store.prepare(batch(partition, spread_intent("c1", on("h1"))))
    before = partition.store.snapshot()
    with pytest.raises(errors.Conflict, match="claims on other hosts use its shared resources"):
        partition.store.remove("san")
    assert partition.store.snapshot() == before
    partition.pass_deadline_of("c1")
    partition.store.remove("san")
    assert POOL not in partition.store.snapshot().providers
    partition.check()


def test_claims_of_a_batch_count_on_a_shared_provider(partition: StorePartition) -> None:
    answer = partition.store.prepare(
        batch(partition, spread_intent("c1", on("h1", 15)), spread_intent("c2", on("h2", 15)))
    )
    assert not answer.accepted and used(partition) == {}
    assert [tuple(result.verdicts) for result in answer.prepared] == [("FITS",), ("FULL",)]
    answer = partition.store.prepare(
        batch(partition, spread_intent("c1", on("h1", 15)), spread_intent("c2", on("h2", 15), on("h2", 10)))
    )
    assert answer.accepted
    assert partition.used(POOL) == {"DISK_GB": 25}
    partition.check()


def test_units_of_all_providers_are_checked(partition: StorePartition) -> None:
    report(partition, "h1", gpus=4)
    outcome = partition.report(
        "san", {POOL: {**node_stats({"DISK_GB": 100}, step_size=10, max_unit=30), "kind": "volume"}}
    )
    partition.store.audit("san", outcome.epoch, [], 60_000)
    results = [
        verdicts(partition, batch(partition, spread_intent(f"c{disk}", on("h1", disk)))) for disk in (15, 40, 30)
    ]
    assert results == [[Verdict.FULL], [Verdict.FULL], [Verdict.FITS]]


def test_largest_batch_of_largest_claims(partition: StorePartition) -> None:
    parts = {f"h1/part{n}": child_stats("h1", {"CUSTOM_PART": 100}) for n in range(63)}
    outcome = partition.report("h1", {"h1": node_stats({"VCPU": 100}), **parts})
    partition.store.audit("h1", outcome.epoch, [], 60_000)
    everything = {"h1": {"VCPU": 1}, **{name: {"CUSTOM_PART": 1} for name in parts}}
    answer = partition.store.prepare(batch(partition, *(spread_intent(f"c{n}", everything) for n in range(100))))
    assert answer.accepted and answer.used["h1/part62"] == {"CUSTOM_PART": 100, "claims": 100}
    partition.check()


def test_thousands_of_providers_are_read_in_one_batch(partition: StorePartition) -> None:
    many = {f"wide/n{n}": node_stats({"VCPU": 1}) for n in range(4000)}
    partition.store.audit("wide", partition.report("wide", many).epoch, [], 60_000)
    names = sorted(many)
    spreads = [{name: {"VCPU": 1} for name in names[64 * n : 64 * n + 64]} for n in range(60)]
    answer = partition.store.prepare(
        batch(partition, *(spread_intent(f"c{n}", spread) for n, spread in enumerate(spreads)))
    )
    assert answer.accepted and len(answer.used) == 60 * 64
