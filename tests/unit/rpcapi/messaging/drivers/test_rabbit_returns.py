# SPDX-License-Identifier: Apache-2.0
"""Reports of messages for which no queue is bound."""

import logging

import pytest

from rpcapi.messaging.drivers import rabbit_returns
from rpcapi.messaging.drivers.rabbit_returns import report_unroutable


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that a test sets, and nothing logged yet."""
    now = [1000.0]
    monkeypatch.setattr(rabbit_returns.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(rabbit_returns, "_logged", {})
    return now


def test_each_key_is_logged_once_a_minute(clock, caplog):
    caplog.set_level(logging.WARNING)
    for _ in range(3):
        report_unroutable("gantt-compute", "compute.h1")
        report_unroutable("gantt-compute", "compute.h2")
    assert len(caplog.records) == 2 and "'compute.h1' of exchange 'gantt-compute'" in caplog.text
    clock[0] += rabbit_returns.REPEAT_SECONDS
    report_unroutable("gantt-compute", "compute.h1")
    assert len(caplog.records) == 3


def test_lines_and_memory_are_bounded(clock, caplog, monkeypatch):
    monkeypatch.setattr(rabbit_returns, "MAX_KEYS", 2)
    caplog.set_level(logging.WARNING)
    for number in range(5):
        report_unroutable("gantt-compute", f"compute.h{number}")
    assert len(caplog.records) == len(rabbit_returns._logged) == 2
    clock[0] += rabbit_returns.REPEAT_SECONDS
    report_unroutable("gantt-compute", "compute.h4")
    assert len(caplog.records) == 3 and len(rabbit_returns._logged) == 1
