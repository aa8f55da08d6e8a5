# SPDX-License-Identifier: Apache-2.0
"""lab.sh overload: rows and budgets, and a short run. Times are not tested."""

from collections import Counter

import numpy as np
import pytest

from devstack.lab.overload import OverloadMeasurements, make_rows
from devstack.lab.timing import Times
from tests.support import asking


def measurements(goodput: float, overloaded_s: float, end_kb: int, *faults: str) -> OverloadMeasurements:
    return OverloadMeasurements(
        peak=100.0,
        goodput=goodput,
        offered=1000.0,
        quiet=Times(np.full(10, 0.1)),
        overloaded=Times(np.full(10, overloaded_s)),
        answers=Counter(accepted=3, Overloaded=7),
        middle_kb=1000,
        end_kb=end_kb,
        faults=faults,
    )


def test_rows_compare_overload_with_peak_and_quiet() -> None:
    goodput, latency, memory, faults = make_rows("embedded", measurements(90.0, 0.5, 1050))
    assert [round(row.ratio, 6) for row in (goodput, latency, memory, faults)] == [0.9, 5.0, 1.05, 0]
    assert (goodput.figures["requests_accepted"], goodput.figures["requests_Overloaded"]) == (3, 7)
    assert all(row.ok for row in (goodput, latency, memory, faults))


def test_rows_show_what_misses_its_budget() -> None:
    rows = list(make_rows("embedded", measurements(79.0, 1.1, 1200, "a is ERROR: full")))
    assert [row.ok for row in rows] == [False] * 4
    assert rows[3].figures["first"] == "a is ERROR: full"


@pytest.mark.long
def test_short_overload_is_measured() -> None:
    options = ("--hosts", "2", "--schedulers", "1", "--batch", "5", "--seconds", "3", "--factor", "2")
    goodput, latency, _memory, faults = asking.run_json("overload", *options)
    assert goodput["requests_accepted"] > 0
    assert latency["boots"] > 0
    assert faults["ratio"] >= 0
