# SPDX-License-Identifier: Apache-2.0
"""Numbers of instances."""

from scheduler_svc.core.weighers.num_instances import WEIGHER
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values
from tests.unit.scheduler_svc.fakes.hosts import node, request


def test_number_is_the_reported_count_or_zero():
    nodes = {"a": node(metrics={"instances": 3}), "b": node(metrics={"instances": -1}), "c": node()}
    assert raw_values(WEIGHER, nodes) == [3, 0, 0]
    assert WEIGHER.step(request()) == 1
