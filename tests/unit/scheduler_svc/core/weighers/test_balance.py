# SPDX-License-Identifier: Apache-2.0
"""Equal free shares of CPUs and memory."""

import pytest

from scheduler_svc.core.weighers.balance import WEIGHER
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values
from tests.unit.scheduler_svc.fakes.hosts import node, request

NODES = {
    "even": node({"VCPU": 10, "MEMORY_MB": 1000}),
    "uneven": node({"VCPU": 10, "MEMORY_MB": 1000}),
    "no cpus": node({"MEMORY_MB": 1000}),
}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, [0, -0.5, 0]),
        ({"VCPU": 5}, [-0.5, 0, 0]),
        ({"VCPU": 5, "MEMORY_MB": 500}, [0, -0.5, 0]),
    ],
)
def test_number_is_the_difference_of_the_shares_after_placement(resources, expected):
    used = {"uneven": {"MEMORY_MB": 500}}
    assert raw_values(WEIGHER, NODES, used=used, resources=resources) == pytest.approx(expected)
    assert WEIGHER.step(request(resources)) == 0
