# SPDX-License-Identifier: Apache-2.0
"""One client of a measurement, with scripted services."""

from types import SimpleNamespace

import numpy as np
import oslo_messaging as messaging
import pytest

from devstack.lab import hosts
from devstack.lab.rpc import caller
from devstack.lab.rpc.caller import MeasuringCaller
from devstack.lab.rpc.callers import ECHO
from rpcapi import errors
from rpcapi.cli.command import CommandFailed


@pytest.fixture
def make(monkeypatch):
    """Return a function that makes a caller; each call takes a second, and answers or raises the next result."""

    def create(*results):
        clock, rest, calls = SimpleNamespace(now=100.0), list(results), []

        def answer(*args):
            calls.append(args)
            clock.now += 1
            result = rest.pop(0) if rest else SimpleNamespace(chosen=args[-1])
            if isinstance(result, Exception):
                raise result
            return result

        def sleep(seconds):
            clock.now += seconds

        monkeypatch.setattr(caller, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=sleep))
        created = object.__new__(MeasuringCaller)
        created._random = np.random.default_rng(1)
        created._echo = SimpleNamespace(call=answer)
        created._scheduler = SimpleNamespace(select_destinations=answer)
        created._servers = hosts.stream(1)
        return created, calls

    return create


def test_calls_are_repeated_until_the_time_has_passed(make):
    created, calls = make()
    measured = created.call_for(ECHO, 2.5)
    assert (measured.began, list(measured.ends), list(measured.seconds)) == (100.0, [101, 102, 103], [1, 1, 1])
    assert len(calls) == 3 and measured.refusals == 0


def test_calls_that_arrive_while_one_is_served_wait_and_last_from_their_arrival(make):
    # Given twice as many arrivals as can be served one after the other, each in a second
    created, calls = make()
    # When they arrive for 50 seconds
    measured = created.call_for(ECHO, 50, per_second=2.0)
    # Then all are served, later than they arrive, and the wait of each counts
    assert 70 < len(calls) == len(measured.ends) < 130
    arrivals = measured.ends - measured.seconds
    assert (np.diff(arrivals) >= 0).all() and arrivals[0] >= 100 and arrivals[-1] <= 150
    assert measured.seconds[-1] == pytest.approx(measured.ends[-1] - arrivals[-1]) and measured.seconds[-1] > 20
    assert measured.ends[-1] == pytest.approx(arrivals[0] + len(calls), abs=2)


def test_caller_waits_for_the_next_arrival(make):
    created, calls = make()
    measured = created.call_for(ECHO, 1000, per_second=0.01)
    assert 2 < len(calls) < 25
    assert np.median(measured.seconds) == pytest.approx(1.0)
    assert created.call_for(ECHO, 1, per_second=1e-9).seconds.size == 1


def test_selection_is_for_different_instances_and_refusals_are_counted(make):
    created, calls = make(errors.NoValidHost(reason="full"))
    measured = created.call_for(3, 1.5)
    assert (len(measured.ends), measured.refusals) == (2, 1)
    for _ctxt, _spec, uuids in calls:
        assert len(set(uuids)) == 3


@pytest.mark.parametrize("result", [messaging.MessagingTimeout("late"), errors.StoreUnavailable(why="away")])
def test_failed_call_ends_the_measurement(make, result):
    created, _ = make(result)
    with pytest.raises(CommandFailed, match="A measured call failed"):
        created.call_for(ECHO, 5)


def test_incomplete_answer_ends_the_measurement(make):
    created, _ = make(SimpleNamespace(chosen=["h"]))
    with pytest.raises(CommandFailed, match="1 of 2 instances"):
        created.call_for(2, 5)
