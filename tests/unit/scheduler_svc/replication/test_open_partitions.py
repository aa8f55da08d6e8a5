# SPDX-License-Identifier: Apache-2.0
"""The partitions of a worker: opened, loaded as far as they are available, and closed."""

import itertools

import pytest

from rpcapi import errors
from scheduler_svc.replication.partitions import OpenPartitions
from tests.support.scheduler import hosts
from tests.support.scheduler.deployments import FragileStore
from tests.support.scheduler.hosts import node


class ClosableStore(FragileStore):
    closed = None  # number of the call of ``close`` among those of all stores

    def close(self):
        self.closed = next(self.numbers)


class Stores:
    """Opens memory stores; the two stores of a partition share nothing, which is enough for opening and closing."""

    def __init__(self, **nodes):
        self.nodes = nodes
        self.opened = []
        self.unavailable = set()
        self.closings = itertools.count()

    def open(self, partition):
        store = ClosableStore(partition, lambda: 1_000_000)
        hosts.join(store, self.nodes[partition])
        store.numbers = self.closings
        store.away = partition in self.unavailable
        self.opened.append(store)
        return store


@pytest.fixture
def stores():
    return Stores(east={"e": node()}, west={"w": node()})


def build(stores, served=("east",), on_loaded=None):
    return OpenPartitions.open(["east", "west"], served, "east", opener=stores.open, reads={}, on_loaded=on_loaded)


def test_every_partition_has_a_store_for_calls_and_one_for_its_log(stores):
    partitions = build(stores)
    assert [store.partition for store in stores.opened] == ["east", "east", "west", "west"]
    assert [partition.name for partition in partitions] == ["east", "west"]
    assert [partition.name for partition in partitions.served] == ["east"]
    assert partitions.own.name == "east"


def test_all_partitions_are_loaded_into_one_table(stores):
    partitions = build(stores)
    partitions.load()
    (table,) = {id(partition.replica.table): partition.replica.table for partition in partitions}.values()
    assert table.hosts == 2


def test_only_loads_of_served_partitions_are_announced(stores):
    loaded = []
    build(stores, on_loaded=lambda replica: loaded.append(replica.partition)).load()
    assert loaded == ["east"]


def test_worker_starts_with_the_partitions_that_are_available(stores, caplog):
    stores.unavailable = {"west"}
    partitions = build(stores)
    partitions.load()
    assert [partition.replica.ready for partition in partitions] == [True, False]
    assert "Partition west is unavailable" in caplog.text
    for store in stores.opened:
        store.away = False
    partitions.load()
    assert all(partition.replica.ready for partition in partitions)


def test_worker_without_any_partition_cannot_start(stores):
    stores.unavailable = {"east", "west"}
    with pytest.raises(errors.StoreUnavailable):
        build(stores).load()


def test_closing_closes_all_stores(stores):
    partitions = build(stores)
    partitions.load()
    partitions.stop()
    partitions.close()
    # The stores of calls last: no replica follows its log then.
    order = sorted(range(4), key=lambda number: stores.opened[number].closed)
    assert order == [1, 3, 0, 2]


def test_unknown_served_partition_is_refused(stores):
    with pytest.raises(errors.UnknownPartition):
        build(stores, served=("north",))
