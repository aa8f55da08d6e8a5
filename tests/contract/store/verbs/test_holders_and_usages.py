# SPDX-License-Identifier: Apache-2.0
"""Lists of who holds from a provider, and what a project uses."""

from dataclasses import replace
from typing import Any

import pytest

from rpcapi import errors
from scheduler_svc.core.records import Candidate, ClaimRef, Intent
from scheduler_svc.store.allocations import AllocationChange, Usage
from tests.contract.store.verbs.pool_allocations import OTHER, POOL, accepted, disk, partition_with_pool, put
from tests.support.store.store_partition import LONG_MS, StorePartition, running


@pytest.fixture
def partition(make_partition: Any) -> StorePartition:
    return partition_with_pool(make_partition)


def test_holders_of_a_provider_are_listed_by_page(partition: StorePartition) -> None:
    # given claims of both owners, on several providers, one of them unverified
    accepted(partition, *(put(f"c{number}", {**disk(2), "h1": {"VCPU": 1}}) for number in (3, 1)))
    partition.hold("c2", "h1", resources={"VCPU": 1})
    batch = partition.batch(Intent("c4", 1, [Candidate("h1", disk(2))]), resources={})
    assert partition.store.prepare(batch).accepted
    epoch = partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [running(ClaimRef("c9", 1), "h1", amounts={"VCPU": 1})], LONG_MS)

    def holders(provider: str, limit: int) -> list[str]:
        consumers: list[str] = []
        marker = None
        while True:
            page, marker = partition.store.list_holders(provider, marker, limit)
            assert len(page) <= limit and all(provider in state.allocations for state in page)
            consumers += [state.consumer for state in page]
            if marker is None:
                return consumers

    for limit in (1, 2, 1000):
        assert holders(POOL, limit) == ["c1", "c3", "c4"]
        assert holders("h1", limit) == ["c1", "c2", "c3", "c9"]  # c4 is on the host, and holds nothing from it
        assert holders(OTHER, limit) == []
    page = partition.store.list_holders(POOL)[0]
    assert page == list(partition.store.read_allocations(["c1", "c3", "c4"]).values())
    # when they end, nothing is left of them
    accepted(partition, put("c1", {}), put("c3", disk(2)))
    partition.store.abort([ClaimRef("c4", 1)])
    assert (holders(POOL, 1), holders("h1", 1)) == (["c3"], ["c2", "c9"])
    partition.check()


def test_holder_past_its_deadline_is_not_listed(partition: StorePartition) -> None:
    partition.prepare("c1", "h1")
    partition.pass_deadline_of("c1")
    assert partition.store.list_holders("h1") == ([], None)


def test_usages_are_the_sums_of_a_projects_claims_by_type(partition: StorePartition) -> None:
    # given claims of both owners, of two projects, users and types, one of them with text that looks like a member
    def change(consumer: str, project: str, user: str, consumer_type: str, allocations: Any) -> AllocationChange:
        return AllocationChange(consumer, allocations, project, user, None, consumer_type)

    accepted(
        partition,
        change("c1", "p", "u", "INSTANCE", {**disk(2), "h1": {"VCPU": 1}}),
        change("c2", "p", "other", "INSTANCE", {"h1": {"VCPU": 1}}),
        change("c3", "p", "u", "", disk(2)),
        change("c4", "other", '"project":"p"', "INSTANCE", disk(4)),
    )
    partition.hold("c5", "h1", resources={"VCPU": 1})
    usages = partition.store.usages
    assert usages("p") == {"INSTANCE": Usage(3, {"DISK_GB": 2, "VCPU": 3}), "": Usage(1, {"DISK_GB": 2})}
    assert usages("p", "u") == {"INSTANCE": Usage(2, {"DISK_GB": 2, "VCPU": 2}), "": Usage(1, {"DISK_GB": 2})}
    assert usages("p", "u", "") == {"": Usage(1, {"DISK_GB": 2})}
    assert usages("p", consumer_type="INSTANCE") == {"INSTANCE": Usage(3, {"DISK_GB": 2, "VCPU": 3})}
    assert usages("other", '"project":"p"') == {"INSTANCE": Usage(1, {"DISK_GB": 4})}
    assert usages("nobody") == {} == usages("p", "nobody")
    # and neither claims past their deadline nor unverified ones count
    partition.prepare("c6", "h1", resources={"VCPU": 1})
    partition.pass_deadline_of("c6")
    epoch = partition.store.snapshot().epoch
    partition.store.audit("h1", epoch, [running(ClaimRef("c7", 1), "h1", amounts={"VCPU": 1})], LONG_MS)
    assert usages("p", consumer_type="INSTANCE")["INSTANCE"].consumers == 3
    for arguments in (("p\0",), ("p", 7), (None,)):
        with pytest.raises(errors.InvalidRequest):
            usages(*arguments)


def test_usages_of_a_project_whose_name_is_escaped(partition: StorePartition) -> None:
    project = 'a/b "\u00fc'
    accepted(partition, AllocationChange("c1", disk(2), project, "u", None))
    batch = replace(partition.batch(Intent("c2", 1, [Candidate("h1")]), resources={"VCPU": 1}), project=project)
    partition.store.prepare(batch)
    partition.store.confirm("h1", [ClaimRef("c2", 1)])
    assert partition.store.usages(project) == {"": Usage(1, {"DISK_GB": 2}), "INSTANCE": Usage(1, {"VCPU": 1})}
