# SPDX-License-Identifier: Apache-2.0
"""Free memory, CPUs and disk."""

import pytest

from scheduler_svc.core.weighers import free_amounts
from tests.support.scheduler.hosts import child_provider, node, request
from tests.unit.scheduler_svc.core.weighers.raw_values import raw_values


@pytest.fixture(
    params=[(free_amounts.RAM, "MEMORY_MB"), (free_amounts.CPU, "VCPU"), (free_amounts.DISK, "DISK_GB")],
    ids=["memory", "CPUs", "disk"],
)
def weighed(request):
    """A weigher and its resource class."""
    return request.param


def test_number_is_the_free_amount_of_the_tree(weighed):
    weigher, name = weighed
    nodes = {
        "free": node({name: 100}),
        "used": node({name: 100}),
        "tree": node({name: 10}),
        "tree/child": child_provider("tree", "tree", {name: 30}),
        "none": node({}),
    }
    assert raw_values(weigher, nodes, used={"used": {name: 70}, "tree/child": {name: 5}}) == [100, 30, 35, 0]


def test_step_is_the_requested_amount(weighed):
    weigher, name = weighed
    assert weigher.step(request({name: 7})) == -7
    assert weigher.step(request({"CUSTOM_OTHER": 7})) == 0
