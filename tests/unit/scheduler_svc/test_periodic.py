# SPDX-License-Identifier: Apache-2.0
"""What is done again and again, and the reaper's round."""

import itertools
import queue

from prometheus_client import REGISTRY

from rpcapi import errors
from scheduler_svc.periodic import Periodic
from scheduler_svc.reaper import BATCH, Reaper, ReapLimits


def run_until(times, act):
    """Let a Periodic act ``times`` times, and end it."""
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


def test_it_is_done_again():
    run_until(3, lambda acted: None)


def test_neither_an_outage_nor_a_fault_ends_it():
    faults = itertools.cycle([errors.StoreUnavailable(why="away"), ZeroDivisionError("a bug")])

    def fail(acted):
        raise next(faults)

    run_until(4, fail)


def test_one_that_never_began_ends_at_once():
    periodic = Periodic("test", lambda: None, lambda: 1)
    periodic.stop()
    periodic.wait()


def test_the_reaper_goes_on_while_there_is_more_and_reads_its_patience_each_round():
    calls = []
    ended = iter([BATCH, BATCH, 3, 0])

    class Store:
        partition = "p"

        def reap(self, **given):
            calls.append(given)
            return next(ended)

        def counts(self):
            return {"prepared": 3, "confirmed": 7}

    patience = [ReapLimits(1000, 2000)]
    reaper = Reaper(Store(), lambda: patience[0])
    reaper.reap()
    patience[0] = ReapLimits(5, 6)
    reaper.reap()
    assert [(given["dead_after_ms"], given["tombstone_ms"]) for given in calls] == [(1000, 2000)] * 3 + [(5, 6)]
    assert REGISTRY.get_sample_value("gantt_live_claims", {"partition": "p", "state": "confirmed"}) == 7
