# SPDX-License-Identifier: Apache-2.0
"""lab.sh overload: rows and budgets, and a short run. Times are not tested."""

import numpy as np
import pytest

from devstack.lab.overload import make_rows, memory_row
from devstack.lab.rows import ResultRow
from devstack.lab.timing import Times
from tests.support import asking


def rows(goodput: float, overloaded_s: float) -> list[ResultRow]:
    rates = {"peak": 100.0, "goodput": goodput, "offered": 1000.0}
    times = Times(np.full(10, 0.1)), Times(np.full(10, overloaded_s))
    return list(make_rows("embedded", rates, {"accepted": 3, "Overloaded": 7}, *times))


def test_rows_compare_overload_with_peak_and_quiet() -> None:
    goodput, latency = rows(90.0, 0.5)
    memory = memory_row("embedded", 1000, 1050)
    assert [round(row.ratio, 6) for row in (goodput, latency, memory)] == [0.9, 5.0, 1.05]
    assert (goodput.figures["requests_accepted"], goodput.figures["requests_Overloaded"]) == (3, 7)
    assert all(row.ok for row in (goodput, latency, memory))


def test_rows_show_what_misses_its_budget() -> None:
    assert [row.ok for row in (*rows(79.0, 1.1), memory_row("embedded", 1000, 1200))] == [False] * 3


@pytest.mark.long
def test_short_overload_is_measured() -> None:
    options = ("--hosts", "2", "--schedulers", "1", "--batch", "5", "--seconds", "3", "--factor", "2")
    goodput, latency, _memory, faults = asking.run_json("overload", *options)
    assert goodput["requests_accepted"] > 0
    assert latency["boots"] > 0
    assert faults["ratio"] >= 0
