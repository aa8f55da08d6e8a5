# SPDX-License-Identifier: Apache-2.0
"""The reaper: batches, limits and metrics."""

from prometheus_client import REGISTRY

from scheduler_svc.replication.reaper import BATCH, Reaper, ReapLimits


def test_reaper_continues_while_batches_are_full_and_rereads_limits():
    calls = []
    ended = iter([BATCH, BATCH, 3, 0])

    class Store:
        partition = "p"

        def reap(self, **limits):
            calls.append(limits)
            return next(ended)

        def counts(self):
            return {"prepared": 3, "confirmed": 7}

    reap_limits = [ReapLimits(1000, 2000)]
    reaper = Reaper(Store(), lambda: reap_limits[0])
    reaper.reap()
    reap_limits[0] = ReapLimits(5, 6)
    reaper.reap()
    assert [(limits["dead_after_ms"], limits["tombstone_ms"]) for limits in calls] == [(1000, 2000)] * 3 + [(5, 6)]
    assert REGISTRY.get_sample_value("gantt_live_claims", {"partition": "p", "state": "confirmed"}) == 7
