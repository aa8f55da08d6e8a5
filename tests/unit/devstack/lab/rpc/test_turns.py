# SPDX-License-Identifier: Apache-2.0
"""Turns of executors: their order, and the comparison of pairs."""

import numpy as np
import pytest

from devstack.lab.rpc import turns
from devstack.lab.rpc.callers import Blocks, CallBlock


def block(calls: int, processor_s: float = 1.0) -> CallBlock:
    """A block of one second with that many calls."""
    return CallBlock(np.full(calls, 1 / calls), 1.0, 0, processor_s)


def make_turn(*calls: int, processor_s: float = 1.0) -> Blocks:
    """A turn of a warm-up and blocks of calls for one instance."""
    return {1: [block(1000), *(block(count, processor_s) for count in calls)]}


def test_daemons_run_in_an_order_that_reverses_after_each_round() -> None:
    order: list[str] = []

    def run(executor: str) -> Blocks:
        order.append(executor)
        return make_turn(len(order))

    measured_turns = turns.take(["eventlet", "threading"], 3, run)
    assert order == [
        *("threading", "eventlet"),
        *("eventlet", "threading"),
        *("threading", "eventlet"),
    ]
    assert [blocks[1][1].calls for blocks in measured_turns["threading"]] == [1, 4, 5]
    assert [blocks[1][1].calls for blocks in measured_turns["eventlet"]] == [2, 3, 6]


def test_comparison_is_the_median_over_pairs_of_turns() -> None:
    # Given three pairs of turns; other processes slowed down the second one of both, and one turn of the third
    threading = [make_turn(90, 90), make_turn(8, 8), make_turn(95, 95)]
    eventlet = [make_turn(count, count, processor_s=2.0) for count in (100, 10, 20)]
    row = turns.compare(threading, eventlet, 1).row("select of 1", has_budget=True)
    # Then the ratio is the pair's in the middle, and the warm-up's calls do not count
    assert (row.ratio, row.ok) == (pytest.approx(0.9), True)
    assert row.figures["least_ratio"] == pytest.approx(0.8)
    assert row.figures["greatest_ratio"] == pytest.approx(4.75)
    # And the processor time per call is compared too
    assert row.figures["processor_ratio"] == pytest.approx(0.5 / 0.9)


def test_turns_too_short_for_the_clock_of_cpu_time_have_no_processor_ratio() -> None:
    comparison = turns.compare([make_turn(100, 100)], [make_turn(100, 100, processor_s=0.0)], 1)
    row = comparison.row("select of 1", has_budget=True)
    assert (row.ratio, row.figures["processor_ratio"]) == (pytest.approx(1.0), "-")


def test_statistics_of_an_executor_are_over_its_turns() -> None:
    assert turns.statistics([make_turn(10), make_turn(30)])[1].per_second == pytest.approx(20)
    assert turns.statistics([make_turn(100), make_turn(50)])[1].per_second == pytest.approx(75)


def test_too_slow_executor_exceeds_the_budget() -> None:
    comparison = turns.compare([make_turn(89)], [make_turn(100)], 1)
    assert not comparison.row("select of 1", has_budget=True).ok
    assert comparison.row("select of 1", has_budget=False).ok
