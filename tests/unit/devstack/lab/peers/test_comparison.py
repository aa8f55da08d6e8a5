# SPDX-License-Identifier: Apache-2.0
"""Alternating blocks of a peer and gantt."""

import gc

import numpy as np
import pytest

from devstack.lab.peers.comparison import BLOCKS, PeerComparison, interleave_with_peer
from devstack.lab.timing import Times


def test_ratio_is_that_of_the_medians():
    comparison = PeerComparison(Times(np.array([1.0, 4.0, 9.0])), Times(np.array([2.0, 2.0, 100.0])))
    assert comparison.ratio == pytest.approx(2.0)


def test_blocks_alternate_and_the_first_of_each_is_discarded():
    order, ticks, collecting = [], [], []

    def peer_calls(first, count):
        order.append("peer")
        return [float(number) for number in range(first, first + count)]

    def subject(number):
        collecting.append(gc.isenabled())
        order.append("gantt")

    comparison = interleave_with_peer(peer_calls, subject, size=3, gantt_size=1, tick=lambda: ticks.append(1))
    assert order == ["peer", "gantt"] + ["gantt", "peer", "peer", "gantt"] * (BLOCKS // 2)
    assert list(comparison.peer_times.seconds) == [float(number) for number in range(3, 3 * (BLOCKS + 1))]
    assert len(comparison.gantt_times.seconds) == BLOCKS
    assert len(ticks) == BLOCKS + 1
    assert (set(collecting), gc.isenabled()) == ({False}, True)
