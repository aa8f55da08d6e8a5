# SPDX-License-Identifier: Apache-2.0
"""The measurement of the replicas, with scripted processes."""

from types import SimpleNamespace

import pytest

from devstack.lab.sync import scenario
from devstack.lab.sync.load import ReportTimes, ScheduledReports
from rpcapi.cli.command import CommandFailed


def reporter(times):
    def receive(seconds, meanwhile):
        meanwhile()
        return [times]

    return SimpleNamespace(send=lambda plans: None, receive=receive)


def test_series_without_a_change_is_rejected():
    bar = SimpleNamespace(update=lambda steps: None)
    with pytest.raises(CommandFailed, match="None of 4 reports changed anything"):
        scenario._report(reporter(ReportTimes([], 9, 4, 0.0)), ScheduledReports(60, 0.1), bar)


def test_bar_shows_the_seconds_but_never_more_than_planned(monkeypatch):
    moments = iter([100.0, 175.0])
    monkeypatch.setattr(scenario, "time", SimpleNamespace(monotonic=lambda: next(moments)))
    steps = []
    times = ReportTimes([(9, 1.0)], 9, 4, 0.0)
    result = scenario._report(reporter(times), ScheduledReports(60, 0.1), SimpleNamespace(update=steps.append))
    assert (result, steps) == (times, [60])
