# SPDX-License-Identifier: Apache-2.0
"""How much an instance makes the free shares of CPUs and memory more equal."""

import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.weighers.balance import WEIGHER
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values
from tests.unit.scheduler_svc.fakes.hosts import node, request

NODES = {
    "even": node({"VCPU": 10, "MEMORY_MB": 1000}),
    "uneven": node({"VCPU": 10, "MEMORY_MB": 1000}),
    "no cpus": node({"MEMORY_MB": 1000}),
}


USED = {"uneven": {"MEMORY_MB": 500}}  # half of the memory is free, and all CPUs


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"VCPU": 5}, [-0.5, 0.5, 0]),
        ({"VCPU": 5, "MEMORY_MB": 500}, [0, 0, 0.5]),
        ({"MEMORY_MB": 500}, [-0.5, -0.5, 0.5]),
        ({"VCPU": 10}, [-1, 0, 0]),
    ],
)
def test_number_is_the_decrease_of_the_difference_of_the_shares(resources, expected):
    assert raw_values(WEIGHER, NODES, used=USED, resources=resources) == pytest.approx(expected)
    assert WEIGHER.step(request(resources)) == 0


def test_groups_of_a_request_count_as_the_rest():
    group = RequestGroup("1", {"VCPU": 5})
    assert raw_values(WEIGHER, NODES, used=USED, resources={"MEMORY_MB": 500}, groups=(group,)) == pytest.approx(
        [0, 0, 0.5]
    )


def test_request_without_both_classes_has_no_numbers():
    assert WEIGHER.raw(None, request({"DISK_GB": 1})) is None
