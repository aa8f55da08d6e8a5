# SPDX-License-Identifier: Apache-2.0
"""Failed builds."""

from scheduler_svc.core.weighers.build_failure import WEIGHER
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values
from tests.unit.scheduler_svc.fakes.hosts import node, request


def test_number_is_the_reported_count_of_failures():
    nodes = {"a": node(metrics={"failed_builds": 3}), "b": node()}
    assert raw_values(WEIGHER, nodes) == [3, 0]
    assert WEIGHER.sign == -1  # fewer failures are better
    assert WEIGHER.step(request()) == 0


def test_hosts_without_failures_are_equal():
    assert raw_values(WEIGHER, {"a": node(metrics={"failed_builds": 0}), "b": node()}) is None
