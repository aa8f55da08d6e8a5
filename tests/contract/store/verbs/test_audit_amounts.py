# SPDX-License-Identifier: Apache-2.0
"""Audits that report other amounts than the claims hold: a claim holds at least what its guest uses."""

from collections.abc import Mapping
from typing import Any

import pytest

from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.allocations import AllocationChange
from scheduler_svc.store.providers.changes import CreateProvider, RefusalKind, SetInventories
from scheduler_svc.store.records import AuditOutcome, RunningClaim
from scheduler_svc.store.validation import MAX_PROVIDERS
from tests.support.clouds.replica import LogFollower
from tests.support.store.store_partition import LONG_MS, ROOMY, SMALL, StorePartition, node_stats, running

POOL = "san/pool"
REF = ClaimRef("c1", 1)
MORE = {"VCPU": 3, "MEMORY_MB": 256}


@pytest.fixture
def hosts(partition: StorePartition) -> StorePartition:
    """Hosts h1, where c1 holds SMALL, and h10; and a pool of 100 GB that host san shares."""
    for host in ("h1", "h10"):
        partition.add_host(host)
    stats = node_stats({"DISK_GB": 100}, traits=[SHARING_TRAIT])
    epoch = partition.report("san", {POOL: {**stats, "kind": "volume"}}).epoch
    partition.store.audit("san", epoch, [], 0)
    partition.hold("c1", "h1")
    return partition


def report(allocations: Mapping[str, Mapping[str, int]], ref: ClaimRef = REF) -> RunningClaim:
    return RunningClaim(*ref, True, "h1", allocations, "INSTANCE", "p", "u", "req-1")


def audit(partition: StorePartition, *claims: RunningClaim) -> AuditOutcome:
    outcome = partition.store.audit("h1", partition.store.snapshot().epoch, claims, LONG_MS)
    assert {result.answer for result in outcome.answers} == {Answer.CONFIRMED}
    return outcome


def claim_of(partition: StorePartition, consumer: str = "c1") -> Any:
    (claim,) = partition.store.claims(consumer=consumer)[0]
    return claim


@pytest.mark.parametrize("is_new_epoch", [True, False])
def test_claim_is_raised_to_what_its_guest_uses(hosts: StorePartition, is_new_epoch: bool) -> None:
    if is_new_epoch:
        hosts.new_epoch()
    replica = LogFollower(hosts)
    before = hosts.store.read_allocations(["c1"])["c1"]
    assert audit(hosts, report({"h1": MORE})).reasserted == 1
    assert hosts.used("h1") == MORE and not hosts.check().excess
    assert hosts.store.usages("p", None)["INSTANCE"].amounts == MORE
    # A client that read the smaller amounts has to read again
    change = AllocationChange("c1", {"h1": ROOMY}, "p", "u", before.generation)
    refusal = hosts.store.allocate([change])
    assert refusal is not None and refusal.kind is RefusalKind.CONSUMER
    assert audit(hosts, report({"h1": MORE})).reasserted == 0
    assert hosts.store.read_allocations(["c1"])["c1"].generation == before.generation + 1
    replica.follow()
    replica.check()
    hosts.store.release("h1", [REF])
    hosts.check()
    assert hosts.used("h1") == {}


def test_excess_of_a_raised_claim_is_flagged_until_it_ends(hosts: StorePartition) -> None:
    hosts.hold("c2", "h1", resources={"VCPU": 3})
    audit(hosts, report({"h1": MORE}), running(ClaimRef("c2", 1), "h1", amounts={"VCPU": 3}))
    (excess,) = hosts.check().excess
    assert (excess["provider"], excess["class"], excess["used"], excess["capacity"]) == ("h1", "VCPU", 6, 4)
    assert hosts.prepare("c3", "h1").answer is Answer.REFUSED
    hosts.store.release("h1", [ClaimRef("c2", 1)])
    assert not hosts.check().excess


@pytest.mark.parametrize("amounts", [{"VCPU": 1}, {"VCPU": 1, "MEMORY_MB": 32}, SMALL])
def test_claim_is_not_lowered(hosts: StorePartition, amounts: Mapping[str, int]) -> None:
    generation = claim_of(hosts).generation
    assert audit(hosts, report({"h1": amounts})).reasserted == 0
    assert hosts.used("h1") == SMALL and claim_of(hosts).generation == generation
    hosts.check()


def test_amounts_are_raised_one_by_one(hosts: StorePartition) -> None:
    audit(hosts, report({"h1": {"VCPU": 2, "MEMORY_MB": 1, "DISK_GB": 5}}))
    assert hosts.used("h1") == {"VCPU": 2, "MEMORY_MB": 64, "DISK_GB": 5}
    hosts.check()


def test_report_of_an_intent_raises_nothing(hosts: StorePartition) -> None:
    audit(hosts, running(REF, "h1", confirmed=False, amounts=MORE))
    assert hosts.used("h1") == SMALL


def test_forgotten_confirmation_is_restored_with_what_the_guest_uses(hosts: StorePartition) -> None:
    hosts.prepare("c2", "h1")
    hosts.new_epoch()
    outcome = audit(hosts, report({"h1": SMALL}), report({"h1": MORE}, ClaimRef("c2", 1)))
    assert outcome.reasserted == 1 and hosts.states()["c2"] == "confirmed"
    assert hosts.used("h1") == {"VCPU": 4, "MEMORY_MB": 320}
    hosts.check()


def test_orphan_that_is_reported_again_is_raised(hosts: StorePartition) -> None:
    hosts.store.audit("h1", hosts.store.snapshot().epoch, [], LONG_MS)
    audit(hosts, report({"h1": MORE}))
    claim = claim_of(hosts)
    assert (claim.orphan_ms, claim.allocations, claim.reported) == (None, {"h1": MORE}, None)


def test_guest_of_a_restored_store_keeps_what_a_client_added(hosts: StorePartition) -> None:
    """The backup has the claim with what a client added, and less of what the guest uses."""
    added = {"h1": SMALL, POOL: {"DISK_GB": 10}}
    generation = hosts.store.read_allocations(["c1"])["c1"].generation
    assert hosts.store.allocate([AllocationChange("c1", added, "p", "u", generation)]) is None
    backup = hosts.mark()
    hosts.forget_since(backup)
    audit(hosts, report({"h1": MORE}))
    assert claim_of(hosts).allocations == {**added, "h1": MORE}
    assert claim_of(hosts).reported == {"h1": MORE}
    assert hosts.used(POOL) == {"DISK_GB": 10}
    hosts.check()


def test_host_speaks_for_its_trees(hosts: StorePartition) -> None:
    hosts.store.change_provider(CreateProvider("@api/own", "own", "h1"))
    hosts.store.change_provider(SetInventories("@api/own", {"VGPU": Inventory(1)}))
    audit(hosts, report({"h1": SMALL, "@api/own": {"VGPU": 2}, "h1/new": {"VGPU": 1}}))
    assert hosts.used("@api/own") == {"VGPU": 2} and hosts.used("h1/new") == {"VGPU": 1}
    assert [state.consumer for state in hosts.store.list_holders("@api/own")[0]] == ["c1"]
    assert {(row["provider"], row["used"]) for row in hosts.check().excess} == {("@api/own", 2), ("h1/new", 1)}


STOLEN: Any = [
    {"h10": {"VCPU": 1}},
    {POOL: {"DISK_GB": 101}},
    {POOL: {"DISK_GB": 1, "VCPU": 1}},
    {"h10": {"VCPU": 1}, POOL: {"DISK_GB": 101}},
]


@pytest.mark.parametrize("stolen", STOLEN)
@pytest.mark.parametrize("is_new_epoch", [True, False])
def test_host_adds_nothing_of_others_that_it_cannot_hold(
    hosts: StorePartition, stolen: Mapping[str, Mapping[str, int]], is_new_epoch: bool
) -> None:
    if is_new_epoch:
        hosts.new_epoch()
    audit(hosts, report({"h1": MORE, **stolen}))
    assert (hosts.used("h1"), hosts.used("h10"), hosts.used(POOL)) == (MORE, {}, {})
    assert claim_of(hosts).allocations == {"h1": MORE}
    # What its guest uses beyond its claim is named, until its agent reports otherwise
    problems = list(hosts.store.verify().problems)
    assert len(problems) == sum(map(len, stolen.values()))
    assert all("the guest of c1@1 on h1 uses" in problem for problem in problems)
    audit(hosts, report({"h1": MORE}))
    hosts.check()


def test_sharing_pool_is_held_from_only_if_that_may_be_forgotten(hosts: StorePartition) -> None:
    claims = [report({"h1": SMALL, POOL: {"DISK_GB": 60}}, ClaimRef(consumer, 1)) for consumer in ("c1", "c2")]
    hosts.hold("c2", "h1")
    audit(hosts, *claims)
    assert hosts.used(POOL) == {}
    hosts.new_epoch()
    audit(hosts, *claims)
    assert hosts.used(POOL) == {"DISK_GB": 60}
    assert list(hosts.store.verify().problems) == [
        f"DISK_GB at {POOL}: the guest of c2@1 on h1 uses 60 by its agent's report; its claim holds 0"
    ]
    # Once there is enough, a client adds what the claim lacks
    hosts.store.release("h1", [REF])
    generation = hosts.store.read_allocations(["c2"])["c2"].generation
    change = AllocationChange("c2", dict(claims[1].allocations), "p", "u", generation)
    hosts.store.audit("san", hosts.store.snapshot().epoch, [], 0)
    assert hosts.store.allocate([change]) is None
    assert claim_of(hosts, "c2").reported is None and hosts.used(POOL) == {"DISK_GB": 60}
    hosts.check()


def test_report_that_was_not_believed_protects_what_the_claim_holds(hosts: StorePartition) -> None:
    audit(hosts, report({"h1": SMALL, POOL: {"DISK_GB": 60}}))
    for amounts, kind in ((SMALL, None), ({"VCPU": 1}, RefusalKind.GUEST)):
        generation = hosts.store.read_allocations(["c1"])["c1"].generation
        refusal = hosts.store.allocate([AllocationChange("c1", {"h1": amounts}, "p", "u", generation)])
        assert (refusal and refusal.kind) == kind


def test_client_takes_amounts_that_the_agent_no_longer_reports(hosts: StorePartition) -> None:
    hosts.hold("c2", "h1", resources={"VCPU": 2, "MEMORY_MB": 128})
    audit(hosts, report({"h1": SMALL}), report({"h1": SMALL}, ClaimRef("c2", 1)))
    generation = hosts.store.read_allocations(["c2"])["c2"].generation
    for amounts, kind in (({"VCPU": 1}, RefusalKind.GUEST), (SMALL, None)):
        refusal = hosts.store.allocate([AllocationChange("c2", {"h1": amounts}, "p", "u", generation)])
        assert (refusal and refusal.kind) == kind
    assert hosts.used("h1") == {"VCPU": 2, "MEMORY_MB": 128}
    hosts.check()


def test_claim_grows_to_the_most_providers_of_one_claim(hosts: StorePartition) -> None:
    names = [f"h1/{number:03}" for number in range(MAX_PROVIDERS + 9)]
    for part in (names[:40], names[40:]):
        audit(hosts, report({name: {"VCPU": 1} for name in part}))
    assert sorted(claim_of(hosts).allocations) == sorted(["h1", *names[: MAX_PROVIDERS - 1]])
    assert len(hosts.store.verify().problems) == 10


def test_claims_of_several_batches_are_raised(hosts: StorePartition) -> None:
    hosts.report("h1", {"h1": node_stats({"VCPU": 1000, "MEMORY_MB": 64})})
    refs = [ClaimRef(f"n{number}", 1) for number in range(130)]
    for ref in refs:
        hosts.hold(ref.consumer, "h1", resources={"VCPU": 1})
    reports = [report({"h1": {"VCPU": 2}}, ref) for ref in refs]
    assert audit(hosts, report({"h1": SMALL}), *reports).reasserted == len(refs)
    assert hosts.used("h1")["VCPU"] == 1 + 2 * len(refs)
    hosts.check()
