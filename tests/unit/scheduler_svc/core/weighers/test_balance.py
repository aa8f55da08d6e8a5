# SPDX-License-Identifier: Apache-2.0
"""How much an instance makes the free shares of CPUs and memory more equal."""

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.weighers.balance import WEIGHER
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

NODES = {
    "even": node({"VCPU": 10, "MEMORY_MB": 1000}),
    "uneven": node({"VCPU": 10, "MEMORY_MB": 1000}),
}


USED = {"uneven": {"MEMORY_MB": 500}}  # half of the memory is free, and all CPUs


@pytest.mark.parametrize(
    ("vcpus", "memory", "expected"),
    [
        (5, 250, [-0.25, 0.25]),
        (5, 500, [0, 0]),
        (1, 600, [-0.5, -0.5]),
        (9, 100, [-0.8, 0.2]),
    ],
)
def test_number_is_the_decrease_of_the_difference_of_the_shares(vcpus, memory, expected):
    resources = {"VCPU": vcpus, "MEMORY_MB": memory}
    assert raw_values(WEIGHER, NODES, used=USED, resources=resources) == pytest.approx(expected)
    assert WEIGHER.step(request(resources)) == 0


def test_groups_of_a_request_count_as_the_rest():
    group = RequestGroup("1", {"VCPU": 5})
    values = raw_values(WEIGHER, NODES, used=USED, resources={"MEMORY_MB": 250}, groups=(group,))
    assert values == pytest.approx([-0.25, 0.25])


@pytest.mark.parametrize("resources", [{"DISK_GB": 1}, {"VCPU": 1}, {"PCPU": 1, "MEMORY_MB": 100}])
def test_request_without_one_of_the_classes_has_no_numbers(resources):
    assert WEIGHER.raw(None, request(resources)) is None
