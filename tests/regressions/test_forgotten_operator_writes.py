# SPDX-License-Identifier: Apache-2.0
"""A failover that forgot a disabled host or an aggregate let instances onto a host from which operators barred them.

A worker that had seen the write in the log knew better, and replaced its table by the forgetful store's.
"""

from collections.abc import Callable

import pytest

from rpcapi import errors
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.aggregates import NAMESPACE
from tests.regressions.forgotten_operator_acts import (
    OPEN,
    RESERVED,
    aggregates,
    disable,
    follow,
    make_replica,
    put,
    service,
    version_of,
)
from tests.support.store.fixtures import make_partition, sqlite_url
from tests.support.store.store_partition import StorePartition

__all__ = ["make_partition", "sqlite_url"]  # fixtures


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
