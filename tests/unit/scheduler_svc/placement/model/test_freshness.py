# SPDX-License-Identifier: Apache-2.0
"""Waiting for the replica."""

import pytest

from rpcapi import errors
from scheduler_svc.placement.model import freshness
from scheduler_svc.replication.replica import Replica
from scheduler_svc.store.memory import MemoryStore
from tests.support.scheduler import hosts


def test_replica_has_what_was_acknowledged(monkeypatch):
    store = MemoryStore("default")
    replica = Replica(store)
    replica.load()
    hosts.join(store, {"h1": hosts.node()})
    monkeypatch.setattr(freshness, "TIMEOUT", 0.01)
    with pytest.raises(errors.Unavailable, match="behind the store"):
        freshness.Freshness(store, replica).require()
    replica.start()
    monkeypatch.setattr(freshness, "TIMEOUT", 60.0)
    freshness.Freshness(store, replica).require()
    assert replica.table.provider_ids() == ["h1"]
    replica.stop()
    replica.wait()
