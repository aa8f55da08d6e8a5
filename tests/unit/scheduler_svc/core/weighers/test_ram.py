# SPDX-License-Identifier: Apache-2.0
"""Free memory."""

from scheduler_svc.core.weighers.ram import WEIGHER
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values
from tests.unit.scheduler_svc.fakes.hosts import child_provider, node, request

NODES = {
    "free": node({"MEMORY_MB": 100}),
    "used": node({"MEMORY_MB": 100}),
    "tree": node({"MEMORY_MB": 10}),
    "tree/child": child_provider("tree", "tree", {"MEMORY_MB": 30}),
    "none": node({}),
}


def test_number_is_the_free_amount_of_the_tree():
    assert raw_values(WEIGHER, NODES, used={"used": {"MEMORY_MB": 70}, "tree/child": {"MEMORY_MB": 5}}) == [
        100,
        30,
        35,
        0,
    ]


def test_step_is_the_requested_amount():
    assert WEIGHER.step(request({"MEMORY_MB": 7})) == -7
    assert WEIGHER.step(request({"CUSTOM_OTHER": 7})) == 0
