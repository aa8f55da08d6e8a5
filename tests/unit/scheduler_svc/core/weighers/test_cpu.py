# SPDX-License-Identifier: Apache-2.0
"""Free CPUs."""

from scheduler_svc.core.weighers.cpu import WEIGHER
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values
from tests.unit.scheduler_svc.fakes.hosts import child_provider, node, request

NODES = {
    "free": node({"VCPU": 100}),
    "used": node({"VCPU": 100}),
    "tree": node({"VCPU": 10}),
    "tree/child": child_provider("tree", "tree", {"VCPU": 30}),
    "none": node({}),
}


def test_number_is_the_free_amount_of_the_tree():
    assert raw_values(WEIGHER, NODES, used={"used": {"VCPU": 70}, "tree/child": {"VCPU": 5}}) == [100, 30, 35, 0]


def test_step_is_the_requested_amount():
    assert WEIGHER.step(request({"VCPU": 7})) == -7
    assert WEIGHER.step(request({"CUSTOM_OTHER": 7})) == 0
