# SPDX-License-Identifier: Apache-2.0
"""lab.sh soak: a row per store and figure, and a store that keeps everything is over the budget."""

import pytest

from devstack.lab.soak import BATCH, Boots
from scheduler_svc.replication.reaper import Reaper
from scheduler_svc.store.memory import MemoryStore
from tests.support import asking


def keys_rows():
    rows = {row["name"]: row for row in asking.run_json("soak", "--boots", "12000")}
    assert set(rows) == {f"{store}, {what}" for store in ("memory", "redis") for what in ("keys", "bytes", "rss_kb")}
    return [rows["memory, keys"], rows["redis, keys"]]


def test_entries_are_as_many_at_the_end_as_at_a_tenth():
    for row in keys_rows():
        assert row["ok"] and row["boots"] == 12000
        assert row["at_the_end"] < row["boots"] / 2


def test_store_that_removes_nothing_is_over_the_budget(monkeypatch):
    monkeypatch.setattr(Reaper, "reap", lambda self: None)
    assert not any(row["ok"] for row in keys_rows())


def test_refused_batch_is_an_error():
    store = MemoryStore("soak", log_length=100)
    boots = Boots(store, 1000, lambda: 0)
    store.begin_epoch()
    with pytest.raises(RuntimeError, match="a batch of the soak was refused"):
        boots.run_batch()


def test_tombstones_of_the_last_boots_are_kept():
    clock = [1_700_000_000_000]
    store = MemoryStore("soak", log_length=100, clock=lambda: clock[0])
    boots = Boots(store, 3 * BATCH, lambda: clock[0])
    for _ in range(10):
        clock[0] += 10
        boots.run_batch()
    assert len(store.state.ended) == 2 * BATCH
