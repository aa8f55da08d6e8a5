# SPDX-License-Identifier: Apache-2.0
"""The record of the epoch up to which nothing is missing."""

import pytest

from rpcapi import errors
from scheduler_svc.placement.model.acknowledged_epoch import NAMESPACE, record_first
from scheduler_svc.store.memory import MemoryStore

PARTITION = "default"


@pytest.fixture
def store():
    return MemoryStore(PARTITION, namespaces=[NAMESPACE])


def record(store):
    """Record the store's present epoch, and return it."""
    epoch, _ = store.check_identity()
    record_first(store, PARTITION, epoch)
    return epoch


def recorded(store):
    return store.get_state(NAMESPACE, PARTITION)[1]["acknowledged_epoch"]


def test_new_partition_has_lost_nothing(store):
    assert record(store) == recorded(store) > 0


def test_record_stays_in_later_epochs(store):
    first = record(store)
    store.begin_epoch()

    assert record(store) > first == recorded(store)


def test_missing_record_in_a_later_epoch_may_be_a_lost_one(store):
    store.check_identity()
    store.begin_epoch()
    record(store)

    assert recorded(store) == 0


def test_second_of_two_processes_leaves_the_record_of_the_first(store, monkeypatch):
    first = record(store)
    store.begin_epoch()

    def find_nothing(namespace, name):
        raise errors.UnknownHost(name=name)

    monkeypatch.setattr(store, "get_state", find_nothing)
    record(store)
    monkeypatch.undo()

    assert recorded(store) == first
