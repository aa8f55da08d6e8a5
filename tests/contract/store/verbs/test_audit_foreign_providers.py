# SPDX-License-Identifier: Apache-2.0
"""Audits whose claims hold from providers of other hosts: what a host cannot speak for counts on itself only."""

from collections.abc import Mapping
from typing import Any

import pytest

from rpcapi.resources.claims import Answer
from rpcapi.resources.inventory import Inventory
from rpcapi.resources.trees.tree import SHARING_TRAIT
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.providers.changes import CreateProvider, SetInventories
from scheduler_svc.store.records import RunningClaim
from tests.support.store.store_partition import LONG_MS, ROOMY, SMALL, StorePartition, node_stats

POOL = "san/pool"
MILLION = 1_000_000
REF = ClaimRef("c1", 1)


@pytest.fixture
def hosts(partition: StorePartition) -> StorePartition:
    """Hosts h1 and h10, and a pool of 100 GB that host san shares."""
    for host in ("h1", "h10"):
        partition.add_host(host)
    report_pool(partition)
    return partition


def report_pool(partition: StorePartition, size: int = 100) -> None:
    stats = node_stats({"DISK_GB": size}, traits=[SHARING_TRAIT])
    epoch = partition.report("san", {POOL: {**stats, "kind": "volume"}}).epoch
    partition.store.audit("san", epoch, [], 0)


def audit(partition: StorePartition, *claims: RunningClaim, host: str = "h1") -> list[Answer]:
    epoch = partition.store.snapshot().epoch
    return [result.answer for result in partition.store.audit(host, epoch, claims, LONG_MS).answers]


def claim(foreign: Mapping[str, Mapping[str, int]], ref: ClaimRef = REF, host: str = "h1") -> RunningClaim:
    """Return a claim of a host that holds SMALL of its own and something of others."""
    return RunningClaim(*ref, True, host, {host: SMALL, **foreign}, "INSTANCE", "p", "u", "req-1")


STOLEN: Any = [
    {"h10": {"VCPU": MILLION}},
    {"h10": {"VCPU": 1}},
    {POOL: {"DISK_GB": MILLION}},
    {POOL: {"DISK_GB": 101}},
    {POOL: {"DISK_GB": 1, "VCPU": 1}},
    {POOL: {"DISK_GB": 1}, "h10": {"VCPU": 1}},
]


@pytest.mark.parametrize("foreign", STOLEN)
@pytest.mark.parametrize("is_new_epoch", [True, False])
def test_audit_takes_no_capacity_of_other_hosts(
    hosts: StorePartition, foreign: Mapping[str, Mapping[str, int]], is_new_epoch: bool
) -> None:
    if is_new_epoch:
        hosts.new_epoch()
    assert audit(hosts, claim(foreign)) == [Answer.UNVERIFIED]
    assert (hosts.used("h1"), hosts.used("h10"), hosts.used(POOL)) == (SMALL, {}, {})
    for host in ("h10", "san"):
        audit(hosts, host=host)
    assert hosts.prepare("c2", "h10", resources=ROOMY).answer is Answer.PREPARED
    assert not hosts.check().excess
    # Repeated, vouched for and released, it still takes nothing of others
    assert audit(hosts, claim(foreign)) == [Answer.UNVERIFIED]
    assert hosts.store.vouch("h1", [REF])[0].answer is Answer.CONFLICT
    assert hosts.used(POOL) == {} and hosts.used("h10") == ROOMY
    hosts.store.release("h1", [REF])
    audit(hosts)
    hosts.check()


def test_audit_ends_no_claim_elsewhere_by_capacity_that_it_cannot_hold(hosts: StorePartition) -> None:
    hosts.hold("c1", "h10")
    hosts.new_epoch()
    assert audit(hosts, claim({"h10": {"VCPU": MILLION}}, ClaimRef("c1", 2))) == [Answer.UNVERIFIED]
    assert ("c1", "h10") in {(live.consumer, live.host) for live in hosts.store.claims()[0]}
    hosts.check()


def test_prepared_attempt_elsewhere_survives_a_copy_that_holds_from_others(hosts: StorePartition) -> None:
    hosts.new_epoch()
    audit(hosts, host="h10")
    assert hosts.prepare("c1", "h10", fresh=True).answer is Answer.PREPARED
    assert audit(hosts, claim({POOL: {"DISK_GB": MILLION}})) == [Answer.UNVERIFIED]
    assert hosts.used("h10") == SMALL
    hosts.check()


def test_forgotten_claim_on_a_pool_is_reasserted_within_its_capacity(hosts: StorePartition) -> None:
    hosts.new_epoch()
    claims = [claim({POOL: {"DISK_GB": 60}}, ClaimRef(f"c{number}", 1)) for number in (1, 2)]
    assert audit(hosts, *claims) == [Answer.CONFIRMED, Answer.UNVERIFIED]
    assert hosts.used(POOL) == {"DISK_GB": 60} and not hosts.check().excess
    # Once there is capacity, the conductor's word makes the other one a claim too
    assert hosts.store.vouch("h1", [ClaimRef("c2", 1)])[0].answer is Answer.CONFLICT
    hosts.store.release("h1", [REF])
    assert hosts.store.vouch("h1", [ClaimRef("c2", 1)])[0].answer is Answer.CONFIRMED
    assert hosts.used(POOL) == {"DISK_GB": 60}
    hosts.check()


def test_capacity_of_the_attempt_that_ends_is_not_counted_twice(hosts: StorePartition) -> None:
    hosts.new_epoch()
    assert audit(hosts, claim({POOL: {"DISK_GB": 60}}, host="h10"), host="h10") == [Answer.CONFIRMED]
    hosts.new_epoch()
    assert audit(hosts, claim({POOL: {"DISK_GB": 60}}, ClaimRef("c1", 2))) == [Answer.CONFIRMED]
    assert hosts.used(POOL) == {"DISK_GB": 60} and hosts.used("h10") == {}
    hosts.check()


def test_claim_on_a_pool_that_has_not_reported_again_is_reasserted(partition: StorePartition) -> None:
    partition.add_host("h1", opened=False)
    assert audit(partition, claim({POOL: {"DISK_GB": 60}})) == [Answer.CONFIRMED]
    report_pool(partition)
    assert partition.used(POOL) == {"DISK_GB": 60}
    partition.check()


def test_host_speaks_for_providers_of_the_api_in_its_trees_only(hosts: StorePartition) -> None:
    for name, parent in (("own", "h1"), ("other", "h10"), ("alone", None)):
        hosts.store.change_provider(CreateProvider(f"@api/{name}", name, parent))
        hosts.store.change_provider(SetInventories(f"@api/{name}", {"DISK_GB": Inventory(10)}, 0))
    hosts.new_epoch()
    names = ("own", "other", "alone")
    claims = [claim({f"@api/{name}": {"DISK_GB": 1}}, ClaimRef(name, 1)) for name in names]
    assert audit(hosts, *claims) == [Answer.CONFIRMED, Answer.UNVERIFIED, Answer.UNVERIFIED]
    assert [hosts.used(f"@api/{name}") for name in names] == [{"DISK_GB": 1}, {}, {}]
    hosts.check()
