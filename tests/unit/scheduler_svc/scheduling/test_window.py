# SPDX-License-Identifier: Apache-2.0
"""Rounds of calls that are ranked together: full ones, failed ones, and those of a replaced policy."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from rpcapi import errors
from scheduler_svc.scheduling.batch import BatchWindow
from scheduler_svc.scheduling.ranking import SchedulingPolicy
from tests.support.scheduler.hosts import request
from tests.support.scheduler.replica_views import FILTER_POLICY, filter_driver
from tests.support.scheduler.schedulers import selection_call


def call(number, size, count=1, **more):
    """Return a call for ``count`` instances of ``size`` VCPU, with unique consumers."""
    return replace(
        selection_call(count, 100 * number), request=replace(request({"VCPU": size}, **more), id=f"req-{number}")
    )


@pytest.mark.parametrize("fault", [errors.StoreUnavailable(why="gone"), ZeroDivisionError()])
def test_failed_ranking_releases_all_waiting_calls(fault):
    def fail(_policy, _calls):
        raise fault

    window = BatchWindow(fail, 30.0, 2)
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(window.rank, FILTER_POLICY, call(number, 1)) for number in range(2)]
        ended = [pending.exception(10) or pending.result() for pending in waiting]
    # A service error leaves all calls to be decided on their own; a bug is raised once, in the leading call
    assert ended.count(None) == (2 if isinstance(fault, errors.GanttError) else 1)


def test_full_round_opens_the_next_round():
    rounds = []
    gate = threading.Event()

    def rank(policy, calls):
        rounds.append(len(calls))
        gate.wait(10)
        return [None] * len(calls)

    window = BatchWindow(rank, 30.0, 2)
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(window.rank, FILTER_POLICY, call(number, 1)) for number in range(4)]
        gate.set()
        assert [pending.result(10) for pending in waiting] == [None] * 4
    assert rounds == [2, 2]


def test_calls_that_start_after_a_reload_open_the_next_round():
    rounds = []

    def rank(policy, calls):
        rounds.append((policy, len(calls)))
        return [None] * len(calls)

    reloaded = SchedulingPolicy(filter_driver())
    window = BatchWindow(rank, 30.0, 2)
    with ThreadPoolExecutor(3) as pool:
        before = pool.submit(window.rank, FILTER_POLICY, call(0, 1))
        while not window._round.calls:
            time.sleep(0.001)
        after = [pool.submit(window.rank, reloaded, call(number, 1)) for number in (1, 2)]
        assert [pending.result(10) for pending in (before, *after)] == [None] * 3
    assert sorted(rounds, key=lambda round_: round_[1]) == [(FILTER_POLICY, 1), (reloaded, 2)]
