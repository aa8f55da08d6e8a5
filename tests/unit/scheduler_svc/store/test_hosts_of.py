# SPDX-License-Identifier: Apache-2.0
"""The hosts of consumers, for scheduler hints that name instances."""

import pytest

from rpcapi import errors
from scheduler_svc.core.records import ClaimRef
from scheduler_svc.store.validation import MAX_REFS
from tests.unit.scheduler_svc.store.store_partition import SHORT_MS, StorePartition


def test_hosts_of_returns_prepared_and_confirmed_claims(partition: StorePartition) -> None:
    partition.add_host("h1", "h1/n1", "h1/n2")
    partition.prepare("c1", "h1/n1")
    partition.hold("c2", "h1/n2")
    assert partition.store.hosts_of(["c1", "c2", "unheard-of"]) == {"c1": "h1/n1", "c2": "h1/n2"}
    assert partition.store.hosts_of([]) == {}


def test_hosts_of_omits_ended_and_expired_claims(partition: StorePartition) -> None:
    partition.add_host("h1")
    partition.prepare("c1", "h1")
    partition.store.abort([ClaimRef("c1", 1)])
    partition.pass_deadline(partition.prepare("c2", "h1", ttl_ms=SHORT_MS))
    assert partition.store.hosts_of(["c1", "c2"]) == {}
    assert partition.states() == {} and partition.used("h1") == {}


def test_number_of_consumers_is_limited(partition: StorePartition) -> None:
    partition.add_host("h1")
    many = [f"c{n}" for n in range(MAX_REFS)]
    partition.prepare("c7", "h1")
    assert partition.store.hosts_of(many) == {"c7": "h1"}
    with pytest.raises(errors.InvalidRequest, match="at most 1000 consumers"):
        partition.store.hosts_of([*many, "one more"])
    with pytest.raises(errors.InvalidName):
        partition.store.hosts_of([""])
