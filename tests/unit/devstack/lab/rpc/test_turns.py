# SPDX-License-Identifier: Apache-2.0
"""Turns of executors: their order, and the comparison of pairs."""

from collections.abc import Sequence

import numpy as np
import pytest

from devstack.lab.rpc import turns
from devstack.lab.rpc.callers import CallBlock, ClientCalls
from devstack.lab.rpc.turns import Turn


def block(calls: int, processor_s: float = 1.0) -> CallBlock:
    """A block of one second with that many calls."""
    ends = np.linspace(0, 1, calls + 1)[1:]
    return CallBlock([ClientCalls(0.0, ends, np.full(calls, 1 / calls), 0)], processor_s)


def make_turn(executor: str, calls: Sequence[int], processor_s: float = 1.0) -> Turn:
    """A turn of a warm-up and blocks of calls for one instance."""
    return Turn(executor, {1: [block(1000), *(block(count, processor_s) for count in calls)]})


def test_order_reverses_after_each_round() -> None:
    assert list(turns.order(["eventlet", "threading"], 3)) == [
        *("threading", "eventlet"),
        *("eventlet", "threading"),
        *("threading", "eventlet"),
    ]


def test_daemons_run_with_the_executor_whose_turn_it_is() -> None:
    pair_of_turns = turns.take(["eventlet", "threading"], 2, lambda executor: {1: [block(1), block(len(executor))]})
    assert [(turn.executor, turn.statistics(1).per_second) for turn in pair_of_turns] == [
        *(("threading", 9.0), ("eventlet", 8.0)),
        *(("eventlet", 8.0), ("threading", 9.0)),
    ]


def test_comparison_is_the_median_over_pairs_of_turns() -> None:
    # Given three pairs of turns; other processes slowed down the second one of both, and one turn of the third
    measured_turns = [
        *(make_turn("threading", [90, 90]), make_turn("eventlet", [100, 100], 2.0)),
        *(make_turn("eventlet", [10, 10], 2.0), make_turn("threading", [8, 8])),
        *(make_turn("threading", [95, 95]), make_turn("eventlet", [20, 20], 2.0)),
    ]
    row = turns.compare(measured_turns, "threading", "eventlet", 1).row("select of 1", has_budget=True)
    # Then the ratio is the pair's in the middle, and the warm-up's calls do not count
    assert (row.ratio, row.ok) == (pytest.approx(0.9), True)
    assert row.figures["least_ratio"] == pytest.approx(0.8)
    assert row.figures["greatest_ratio"] == pytest.approx(4.75)
    # And the processor time per call is compared too
    assert row.figures["processor_ratio"] == pytest.approx(0.5 / 0.9)


def test_turns_too_short_for_the_clock_of_cpu_time_have_no_processor_ratio() -> None:
    measured_turns = [make_turn("threading", [100, 100]), make_turn("eventlet", [100, 100], 0.0)]
    row = turns.compare(measured_turns, "threading", "eventlet", 1).row("select of 1", has_budget=True)
    assert (row.ratio, row.figures["processor_ratio"]) == (pytest.approx(1.0), "-")


def test_statistics_of_an_executor_are_over_its_turns() -> None:
    measured_turns = [
        make_turn("threading", [100]),
        make_turn("eventlet", [10]),
        make_turn("eventlet", [30]),
        make_turn("threading", [50]),
    ]
    assert turns.statistics(measured_turns, "eventlet")[1].per_second == pytest.approx(20)
    assert turns.statistics(measured_turns, "threading")[1].per_second == pytest.approx(75)


def test_too_slow_executor_exceeds_the_budget() -> None:
    measured_turns = [make_turn("eventlet", [100]), make_turn("threading", [89])]
    comparison = turns.compare(measured_turns, "threading", "eventlet", 1)
    assert not comparison.row("select of 1", has_budget=True).ok
    assert comparison.row("select of 1", has_budget=False).ok
