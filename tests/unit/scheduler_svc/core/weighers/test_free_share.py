# SPDX-License-Identifier: Apache-2.0
"""The free shares of CPUs and memory that an instance would leave, and the cost of unequal ones."""

import numpy as np
import pytest

from rpcapi.resources.groups import RequestGroup
from scheduler_svc.core.weighers.free_share import WEIGHER
from tests.support.scheduler import hosts
from tests.support.scheduler.hosts import node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values

NODES = {
    "small": node({"VCPU": 10, "MEMORY_MB": 1000, "DISK_GB": 10}),
    "large": node({"VCPU": 20, "MEMORY_MB": 4000, "DISK_GB": 10}),
}
USED = {"large": {"VCPU": 10, "MEMORY_MB": 1000, "DISK_GB": 10}}


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({"VCPU": 5, "MEMORY_MB": 500}, [0.5 + 0.5, 0.25 + 0.625 - 6 * (0.75**2 - 0.375**2)]),
        ({"VCPU": 5, "MEMORY_MB": 500, "DISK_GB": 10}, [0.5 + 0.5, 0.25 + 0.625 - 6 * (0.75**2 - 0.375**2)]),
        ({"MEMORY_MB": 500, "PCPU": 2}, [1 + 0.5 - 6 * 0.5**2, 0.5 + 0.625 - 6 * (0.5**2 - 0.375**2)]),
        ({"DISK_GB": 5}, [0.5, -0.5]),
    ],
)
def test_number_is_the_sum_of_the_shares_that_are_left_minus_the_cost_of_unequal_ones(resources, expected):
    assert raw_values(WEIGHER, NODES, used=USED, resources=resources) == pytest.approx(expected)


def test_groups_of_a_request_count_as_the_rest():
    group = RequestGroup("1", {"VCPU": 5})
    values = raw_values(WEIGHER, NODES, used=USED, resources={"MEMORY_MB": 500}, groups=(group,))
    assert values == pytest.approx([1, 0.875 - 6 * (0.75**2 - 0.375**2)])


def test_step_is_the_change_by_a_second_instance():
    with hosts.table(NODES).reading() as view:
        steps = WEIGHER.row_steps(view, request({"VCPU": 1, "MEMORY_MB": 100}), np.array([1, 0]))
        disk_steps = WEIGHER.row_steps(view, request({"DISK_GB": 1}), np.array([1, 0]))
    assert steps == pytest.approx([-0.05 - 0.025 - 6 * (0.1**2 - 0.05**2 - 0.05**2 + 0.025**2), -0.1 - 0.1])
    assert disk_steps == pytest.approx([-0.1, -0.1])


def test_step_is_at_least_the_shares_that_an_instance_takes():
    used = {"small": {"VCPU": 8}}
    with hosts.table(NODES, used).reading() as view:
        values = [WEIGHER.raw(view, request({"MEMORY_MB": amount}))[view.row("small")] for amount in (100, 200)]
        steps = WEIGHER.row_steps(view, request({"MEMORY_MB": 100}), np.array([view.row("small")]))
    assert values[1] > values[0]
    assert steps == pytest.approx([-0.1])


def test_host_without_one_of_the_classes_is_not_uneven():
    nodes = {"a": node({"VCPU": 10}), "b": node({"VCPU": 5}), "c": node({"VCPU": 10, "MEMORY_MB": 1000})}
    values = raw_values(WEIGHER, nodes, resources={"VCPU": 1, "MEMORY_MB": 100})
    assert values == pytest.approx([0.9, 0.8, 0.9 + 0.9])
