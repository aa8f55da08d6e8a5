# SPDX-License-Identifier: Apache-2.0
"""Numbers of I/O operations."""

from scheduler_svc.core.weighers.io_ops import WEIGHER
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values
from tests.unit.scheduler_svc.fakes.hosts import node, request


def test_number_is_the_reported_count_or_zero():
    nodes = {"a": node(metrics={"io_ops": 3}), "b": node(metrics={"io_ops": -1}), "c": node()}
    assert raw_values(WEIGHER, nodes) == [3, 0, 0]
    assert WEIGHER.step(request()) == 1
