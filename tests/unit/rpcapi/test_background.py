# SPDX-License-Identifier: Apache-2.0
"""Periodic tasks, and the reaper."""

import itertools
import queue

from prometheus_client import REGISTRY

from rpcapi import errors
from rpcapi.background import Periodic
from scheduler_svc.replication.reaper import BATCH, Reaper, ReapLimits


def run_until(times, act):
    """Run a Periodic ``times`` times, then stop it."""
    acted = queue.Queue()

    def acting():
        acted.put(None)
        act(acted)

    periodic = Periodic("test", acting, lambda: 0.001)
    periodic.start()
    for _ in range(times):
        acted.get(timeout=10)
    periodic.stop()
    periodic.wait()


def test_task_is_repeated():
    run_until(3, lambda acted: None)


def test_outage_or_error_does_not_end_the_thread():
    faults = itertools.cycle([errors.StoreUnavailable(why="away"), ZeroDivisionError("a bug")])

    def fail(acted):
        raise next(faults)

    run_until(4, fail)


def test_wait_returns_at_once_if_never_started():
    periodic = Periodic("test", lambda: None, lambda: 1)
    periodic.stop()
    periodic.wait()


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

    patience = [ReapLimits(1000, 2000)]
    reaper = Reaper(Store(), lambda: patience[0])
    reaper.reap()
    patience[0] = ReapLimits(5, 6)
    reaper.reap()
    assert [(limits["dead_after_ms"], limits["tombstone_ms"]) for limits in calls] == [(1000, 2000)] * 3 + [(5, 6)]
    assert REGISTRY.get_sample_value("gantt_live_claims", {"partition": "p", "state": "confirmed"}) == 7
