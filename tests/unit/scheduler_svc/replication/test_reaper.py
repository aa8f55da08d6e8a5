# SPDX-License-Identifier: Apache-2.0
"""The reaper: batches, limits, pauses and metrics."""

import pytest
from prometheus_client import REGISTRY

from rpcapi import errors
from scheduler_svc.replication.reaper import BATCH, MIN_PAUSE, STORE_SHARE, Reaper, ReapLimits
from scheduler_svc.store.records import ReapResult


class FakeStore:
    """A store whose cleanups take ``seconds`` and have these results."""

    partition = "p"

    def __init__(self, *results, seconds=0.0):
        self.results = list(results)
        self.calls = []
        self.now = 0.0
        self.seconds = seconds

    def reap(self, **limits):
        self.calls.append(limits)
        self.now += self.seconds
        result = self.results.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    def counts(self):
        return {"prepared": 3, "confirmed": 7}


def make_reaper(store, limits=lambda: ReapLimits(1000, 2000, 3000)):
    return Reaper(store, limits, lambda dead_after_ms: False, lambda: store.now)


def test_limits_are_read_for_each_batch():
    reap_limits = [ReapLimits(1000, 2000, 3000)]
    store = FakeStore(ReapResult(BATCH, True), ReapResult(0, False, 2500))
    reaper = make_reaper(store, lambda: reap_limits[0])
    reaper.reap()
    reap_limits[0] = ReapLimits(5, 6, 7)
    reaper.reap()
    assert store.calls == [
        {"dead_after_ms": 1000, "tombstone_ms": 2000, "collect_ms": 3000, "limit": BATCH},
        {"dead_after_ms": 5, "tombstone_ms": 6, "collect_ms": 7, "limit": BATCH},
    ]
    assert REGISTRY.get_sample_value("gantt_store_claims", {"partition": "p", "state": "confirmed"}) == 7
    assert REGISTRY.get_sample_value("gantt_store_prepared_claim_seconds", {"partition": "p"}) == 2.5


def test_silent_hosts_are_not_marked_down_while_the_bus_is_suspected():
    store = FakeStore(*[ReapResult(0, False)] * 3)
    limits_seen = []

    def spares_hosts(dead_after_ms):
        limits_seen.append(dead_after_ms)
        return len(limits_seen) == 1

    limits = [ReapLimits(1000, 2000), ReapLimits(1000, 2000), ReapLimits(None, 2000)]
    reaper = Reaper(store, lambda: limits.pop(0), spares_hosts, lambda: store.now)
    for _ in range(3):
        reaper.reap()
    assert [call["dead_after_ms"] for call in store.calls] == [None, 1000, None]
    assert limits_seen == [1000, 1000], "a service group decides by itself"


def test_batches_follow_each_other_while_more_is_due():
    store = FakeStore(ReapResult(0, True), ReapResult(0, False), seconds=0.002)
    reaper = make_reaper(store)
    assert reaper.pause(5.0) == 5.0
    reaper.reap()
    pause = reaper.pause(5.0)
    assert 0.002 / (0.002 + pause) == pytest.approx(STORE_SHARE)
    reaper.reap()
    assert reaper.pause(5.0) == 5.0


@pytest.mark.parametrize(("seconds", "pause"), [(0.0, MIN_PAUSE), (60.0, 5.0)])
def test_the_pause_is_never_none_nor_longer_than_the_interval(seconds, pause):
    reaper = make_reaper(FakeStore(ReapResult(0, True), seconds=seconds))
    reaper.reap()
    assert reaper.pause(5.0) == pause


def test_an_outage_ends_the_short_pauses():
    reaper = make_reaper(FakeStore(ReapResult(0, True), errors.StoreUnavailable(why="away")))
    reaper.reap()
    with pytest.raises(errors.StoreUnavailable):
        reaper.reap()
    assert reaper.pause(5.0) == 5.0
