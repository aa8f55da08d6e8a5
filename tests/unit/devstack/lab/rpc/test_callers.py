# SPDX-License-Identifier: Apache-2.0
"""Statistics of calls, and the comparison of pairs of turns."""

import numpy as np
import pytest

from devstack.lab.rpc import command
from devstack.lab.rpc.callers import Blocks, CallTimes, ClientCalls


def client(began, *ends, refusals=0):
    starts = [began, *ends[:-1]]
    return ClientCalls(began, np.array(ends), np.array(ends) - np.array(starts), refusals)


BLOCK = CallTimes.of([client(10.0, 11.0, 12.0, refusals=1), client(10.5, 12.5)], processor_s=0.6)


def test_block_lasts_from_the_first_start_to_the_last_end():
    assert (BLOCK.calls, BLOCK.refusals, BLOCK.elapsed) == (3, 1, 2.5)
    assert sorted(BLOCK.seconds) == [1.0, 1.0, 2.0]


def test_statistics_are_over_all_blocks():
    statistics = CallTimes.joined([BLOCK, CallTimes.of([client(0.0, 0.5)], processor_s=0.2)])
    assert statistics.per_second == pytest.approx(4 / 3.0)
    assert statistics.processor_ms == pytest.approx(200.0)
    assert statistics.percentile(50) == pytest.approx(1.0)
    assert statistics.percentile(100) == pytest.approx(2.0)


def block(calls: int, processor_s: float = 1.0) -> CallTimes:
    """A block of one second with that many calls."""
    return CallTimes(np.full(calls, 1 / calls), 1.0, 0, processor_s)


def make_turn(*calls: int, processor_s: float = 1.0) -> Blocks:
    """A turn of a warm-up and blocks of calls for one instance."""
    return {1: [block(1000), *(block(count, processor_s) for count in calls)]}


def test_comparison_is_the_median_over_pairs_of_turns() -> None:
    # Given three pairs of turns; other processes slowed down the second one of both, and one turn of the third
    threading = [make_turn(90, 90), make_turn(8, 8), make_turn(95, 95)]
    eventlet = [make_turn(count, count, processor_s=2.0) for count in (100, 10, 20)]
    row = command.comparison_row("select of 1", threading, eventlet, 1, has_budget=True)
    # Then the ratio is the pair's in the middle, and the warm-up's calls do not count
    assert (row.ratio, row.ok) == (pytest.approx(0.9), True)
    assert row.figures["least_ratio"] == pytest.approx(0.8)
    assert row.figures["greatest_ratio"] == pytest.approx(4.75)
    # And the processor time per call is compared too
    assert row.figures["processor_ratio"] == pytest.approx(0.5 / 0.9)


def test_turns_too_short_for_the_clock_of_cpu_time_have_no_processor_ratio() -> None:
    row = command.comparison_row("it", [make_turn(100, 100)], [make_turn(100, 100, processor_s=0.0)], 1)
    assert (row.ratio, row.figures["processor_ratio"]) == (pytest.approx(1.0), "-")


def test_statistics_of_an_executor_are_over_its_turns() -> None:
    assert command.statistics([make_turn(10), make_turn(30)])[1].per_second == pytest.approx(20)
    assert command.statistics([make_turn(100), make_turn(50)])[1].per_second == pytest.approx(75)


def test_too_slow_executor_exceeds_the_budget() -> None:
    own, base = [make_turn(89)], [make_turn(100)]
    assert not command.comparison_row("select of 1", own, base, 1, has_budget=True).ok
    assert command.comparison_row("select of 1", own, base, 1).ok
