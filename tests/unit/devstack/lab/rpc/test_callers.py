# SPDX-License-Identifier: Apache-2.0
"""Statistics of calls."""

import numpy as np
import pytest

from devstack.lab.rpc.callers import CallTimes, ClientCalls


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
