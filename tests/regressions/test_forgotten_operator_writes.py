# SPDX-License-Identifier: Apache-2.0
"""A failover that forgot a disabled host or an aggregate let instances onto a host from which operators barred them.

A worker that had seen the write in the log knew better, and replaced its table by the forgetful store's.
"""

from collections.abc import Callable
from typing import Any

import pytest

from rpcapi import errors
from rpcapi.resources.claims import Answer, Verdict
from scheduler_svc.core.table.table import HostTable
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.aggregates import NAMESPACE
from tests.unit.scheduler_svc.store.conftest import make_partition, sqlite_url
from tests.unit.scheduler_svc.store.store_partition import StorePartition, intent

__all__ = ["make_partition", "sqlite_url"]  # fixtures

OPEN = {"hosts": ["h1", "h2"], "metadata": {}}
RESERVED = {"hosts": ["h1", "h2"], "metadata": {"filter_tenant_id": "payroll"}}


@pytest.fixture
def partition(make_partition: Callable[..., StorePartition]) -> StorePartition:
    new_partition = make_partition(namespaces=[NAMESPACE, "rack"])
    for host in ("h1", "h2"):
        new_partition.add_host(host)
    return new_partition


@pytest.fixture
def replica(partition: StorePartition) -> Replica:
    """A worker's replica that has loaded the partition."""
    return make_replica(partition)


def make_replica(partition: StorePartition) -> Replica:
    loaded = Replica(partition.store, table=HostTable([partition.store.partition], {NAMESPACE: frozenset({"hosts"})}))
    loaded.load()
    return loaded


def follow(replica: Replica, partition: StorePartition) -> None:
    """Apply all that the log has."""
    while replica.log_position.position < partition.store.snapshot().position:
        replica.step(0)


def put(partition: StorePartition, name: str, document: Any) -> int:
    return partition.store.put_state(NAMESPACE, name, version_of(partition, NAMESPACE, name), document)


def version_of(partition: StorePartition, namespace: str, name: str) -> int:
    try:
        return partition.store.get_state(namespace, name)[0]
    except errors.UnknownHost:
        return 0


def aggregates(partition: StorePartition) -> dict[str, Any]:
    return {name: document for name, _version, document in partition.store.list_state(NAMESPACE)[0]}


def disable(partition: StorePartition, host: str, *, enabled: bool = False, reason: str | None = "disk") -> None:
    changes = {"enabled": enabled, "disabled_reason": reason}
    partition.store.put_state("service", host, version_of(partition, "service", host), changes)


def service(partition: StorePartition, host: str) -> tuple[bool, str | None]:
    document = partition.store.get_state("service", host)[1]
    return document["enabled"], document["disabled_reason"]


def test_disabled_host_stays_disabled(partition: StorePartition, replica: Replica) -> None:
    # Given a host that was disabled, and a failover that forgot it
    mark = partition.mark()
    disable(partition, "h1")
    follow(replica, partition)
    partition.forget_since(mark)
    assert service(partition, "h1") == (True, None)
    # When a worker that had seen it follows the new epoch
    follow(replica, partition)
    # Then the store has it again, and so has any worker that loads the partition
    assert service(partition, "h1") == (False, "disk")
    assert service(partition, "h2") == (True, None)
    with make_replica(partition).table.reading() as view:
        assert sorted(view.services.enabled.tolist()) == [False, True]


def test_enabled_host_stays_enabled(partition: StorePartition, replica: Replica) -> None:
    disable(partition, "h1")
    mark = partition.mark()
    disable(partition, "h1", enabled=True, reason=None)
    follow(replica, partition)
    partition.forget_since(mark)
    follow(replica, partition)
    assert service(partition, "h1") == (True, None)


def test_aggregate_keeps_its_last_change(partition: StorePartition, replica: Replica) -> None:
    # Given an aggregate that was reserved for a project, one that was created, one that was deleted: all forgotten
    put(partition, "reserved", OPEN)
    put(partition, "old", OPEN)
    put(partition, "unchanged", OPEN)
    mark = partition.mark()
    put(partition, "reserved", RESERVED)
    put(partition, "new", RESERVED)
    partition.store.delete_state(NAMESPACE, "old", version_of(partition, NAMESPACE, "old"))
    follow(replica, partition)
    partition.forget_since(mark)
    assert aggregates(partition) == {"reserved": OPEN, "old": OPEN, "unchanged": OPEN}
    # When a worker follows the new epoch, then the store has all of them again
    follow(replica, partition)
    assert aggregates(partition) == {"reserved": RESERVED, "new": RESERVED, "unchanged": OPEN}


def test_decisions_on_forgotten_aggregates_are_stale(partition: StorePartition, replica: Replica) -> None:
    # Given a decision that was made in the new epoch, on documents that lack what operators had written
    mark = partition.mark()
    put(partition, "reserved", RESERVED)
    follow(replica, partition)
    epoch = partition.forget_since(mark)
    for host in ("h1", "h2"):
        partition.store.audit(host, epoch, [], 0)
    decided = partition.batch(intent("c1", "h1", "h2"))
    # When a worker repeats them before it is claimed, then it is decided again
    follow(replica, partition)
    (result,) = partition.store.prepare(decided).prepared
    assert (result.answer, set(result.verdicts)) == (Answer.REFUSED, {Verdict.STALE})


def test_later_writes_are_kept(partition: StorePartition, replica: Replica) -> None:
    # Given forgotten writes whose documents operators wrote again in the new epoch
    put(partition, "az1", OPEN)
    mark = partition.mark()
    put(partition, "az1", RESERVED)
    disable(partition, "h1", reason="before")
    follow(replica, partition)
    partition.forget_since(mark)
    put(partition, "az1", {"hosts": ["h2"], "metadata": {}})
    disable(partition, "h1", reason="after")
    # Then a worker repeats none of them
    follow(replica, partition)
    assert aggregates(partition) == {"az1": {"hosts": ["h2"], "metadata": {}}}
    assert service(partition, "h1") == (False, "after")


def test_kept_deletion_is_not_undone_by_a_late_worker(partition: StorePartition, replica: Replica) -> None:
    # Given a worker that has not yet seen a deletion, and a new epoch that forgot nothing
    put(partition, "az1", OPEN)
    follow(replica, partition)
    partition.store.delete_state(NAMESPACE, "az1", version_of(partition, NAMESPACE, "az1"))
    partition.new_epoch()
    follow(replica, partition)
    assert aggregates(partition) == {}


def test_workers_repeat_the_same_writes_once(partition: StorePartition, replica: Replica) -> None:
    other = make_replica(partition)
    mark = partition.mark()
    put(partition, "az1", RESERVED)
    disable(partition, "h1")
    follow(replica, partition)
    follow(other, partition)
    partition.forget_since(mark)
    follow(replica, partition)
    before = partition.store.snapshot().position
    follow(other, partition)
    assert partition.store.snapshot().position == before
    assert (aggregates(partition), service(partition, "h1")) == ({"az1": RESERVED}, (False, "disk"))


def test_next_epoch_repeats_nothing_older(partition: StorePartition, replica: Replica) -> None:
    # Given a write that was repeated, and deleted since
    mark = partition.mark()
    put(partition, "az1", OPEN)
    follow(replica, partition)
    partition.forget_since(mark)
    follow(replica, partition)
    partition.store.delete_state(NAMESPACE, "az1", version_of(partition, NAMESPACE, "az1"))
    partition.new_epoch()
    follow(replica, partition)
    assert aggregates(partition) == {}


def test_worker_that_was_started_since_repeats_them_too(partition: StorePartition) -> None:
    # Given a worker that has loaded the writes, but did not see them in the log
    put(partition, "reserved", OPEN)
    mark = partition.mark()
    put(partition, "reserved", RESERVED)
    put(partition, "new", OPEN)
    disable(partition, "h1")
    late_replica = make_replica(partition)
    partition.forget_since(mark)
    follow(late_replica, partition)
    assert aggregates(partition) == {"reserved": RESERVED, "new": OPEN}
    assert service(partition, "h1") == (False, "disk")


def test_write_that_no_worker_saw_is_lost(partition: StorePartition, replica: Replica) -> None:
    # Not guaranteed: the operator repeats it
    mark = partition.mark()
    put(partition, "az1", RESERVED)
    disable(partition, "h1")
    partition.forget_since(mark)
    follow(replica, partition)
    assert (aggregates(partition), service(partition, "h1")) == ({}, (True, None))
    put(partition, "az1", RESERVED)
    disable(partition, "h1")
    assert (aggregates(partition), service(partition, "h1")) == ({"az1": RESERVED}, (False, "disk"))


def test_host_that_was_forgotten_too_is_skipped(partition: StorePartition, replica: Replica) -> None:
    mark = partition.mark()
    partition.add_host("h3")
    disable(partition, "h3")
    follow(replica, partition)
    partition.forget_since(mark)
    follow(replica, partition)
    with pytest.raises(errors.UnknownHost):
        partition.store.get_state("service", "h3")


def test_other_documents_are_as_before_the_loss(partition: StorePartition, replica: Replica) -> None:
    partition.store.put_state("rack", "h1", 0, {"watts": 1})
    mark = partition.mark()
    partition.store.put_state("rack", "h1", version_of(partition, "rack", "h1"), {"watts": 2})
    follow(replica, partition)
    partition.forget_since(mark)
    follow(replica, partition)
    assert partition.store.get_state("rack", "h1")[1] == {"watts": 1}


def test_removed_host_is_back_until_it_is_fenced_and_removed_again(partition: StorePartition, replica: Replica) -> None:
    mark = partition.mark()
    partition.store.remove("h1")
    follow(replica, partition)
    partition.forget_since(mark)
    follow(replica, partition)
    # It takes no claims, and may run some that were forgotten
    assert partition.prepare("c1", "h1").answer == Answer.REFUSED
    with pytest.raises(errors.Conflict):
        partition.store.remove("h1")
    partition.fence("h1")
    partition.store.remove("h1")
    assert version_of(partition, "service", "h1") == 0
