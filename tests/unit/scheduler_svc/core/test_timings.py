# SPDX-License-Identifier: Apache-2.0
"""Timings of filters and weighers, and which decisions are measured."""

from types import SimpleNamespace

import pytest

from scheduler_svc.core import timings
from scheduler_svc.core.timings import (
    COLUMNAR,
    EVERY,
    FILTER,
    WEIGHER,
    Laps,
    PluginTimings,
    find_timings,
    measured_decisions,
)


@pytest.fixture(autouse=True)
def no_timings(monkeypatch):
    """Start each test without timings, which are otherwise kept for the life of the process."""
    monkeypatch.setattr(timings, "_TIMINGS", {})


@pytest.fixture
def clock(monkeypatch):
    """A clock that shows the number in a list."""
    seconds = [100.0]
    monkeypatch.setattr(timings, "time", SimpleNamespace(perf_counter=lambda: seconds[0]))
    return seconds


def test_calls_add_up():
    plugin_timings = PluginTimings()
    plugin_timings.add(0.5, 10)
    plugin_timings.add(0.25, 4)
    assert plugin_timings == PluginTimings(calls=2, errors=0, seconds=0.75, hosts=14, last_error=None, form=COLUMNAR)


def test_timings_are_kept_by_kind_and_name():
    find_timings(FILTER, "RAM").add(1.0, 1)
    assert find_timings(FILTER, "RAM").calls == 1
    assert find_timings(WEIGHER, "RAM").calls == 0
    assert find_timings(FILTER, "CPU").calls == 0


def test_one_decision_in_many_is_measured():
    is_measured = measured_decisions()
    measured = [number for number in range(1, 3 * EVERY + 1) if next(is_measured)]
    assert measured == [EVERY, 2 * EVERY, 3 * EVERY]


def test_lap_is_the_time_since_the_previous_one(clock):
    laps = Laps()
    clock[0] += 2
    laps.lap(FILTER, "first", 10, count=True)
    clock[0] += 3
    laps.lap(FILTER, "second", 20, count=True)
    assert [(find_timings(FILTER, name).seconds, find_timings(FILTER, name).hosts) for name in ("first", "second")] == [
        (2, 10),
        (3, 20),
    ]


def test_lap_that_is_not_counted_adds_nothing_to_the_next(clock):
    laps = Laps()
    clock[0] += 2
    laps.lap(FILTER, "external", 10, count=False)
    clock[0] += 3
    laps.lap(FILTER, "own", 10, count=True)
    assert (find_timings(FILTER, "external").calls, find_timings(FILTER, "own").seconds) == (0, 3)


def test_time_before_a_new_beginning_is_discarded(clock):
    laps = Laps()
    clock[0] += 5
    laps.begin()
    clock[0] += 1
    laps.lap(WEIGHER, "own", 10, count=True)
    assert find_timings(WEIGHER, "own").seconds == 1
