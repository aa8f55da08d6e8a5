# SPDX-License-Identifier: Apache-2.0
"""The hosts of a server group's claims."""

from rpcapi.resources.claims import GroupPolicy
from scheduler_svc.core.records import ClaimGroup, ClaimRef
from tests.unit.scheduler_svc.store.store_partition import StorePartition

APART = ClaimGroup("g1", GroupPolicy.ANTI_AFFINITY, 2)


def test_group_hosts_returns_live_claims_by_host(partition: StorePartition) -> None:
    for host in ("h1", "h2"):
        partition.add_host(host)
    partition.prepare("c1", "h1", group=APART)
    partition.prepare("c2", "h1", group=APART)
    partition.prepare("c3", "h2", group=APART)
    partition.prepare("c4", "h2")
    assert partition.store.group_hosts("g1") == {"h1": 2, "h2": 1}
    partition.store.abort([ClaimRef("c1", 1), ClaimRef("c3", 1)])
    assert partition.store.group_hosts("g1") == {"h1": 1}


def test_unknown_group_has_no_hosts(partition: StorePartition) -> None:
    assert partition.store.group_hosts("unheard-of") == {}
