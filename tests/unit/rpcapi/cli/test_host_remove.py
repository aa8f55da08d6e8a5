# SPDX-License-Identifier: Apache-2.0
"""``gantt host remove``."""

import pytest


@pytest.fixture
def cluster_of_two(cluster):
    for name in ("host1", "host2"):
        cluster.scheduler.service(name)
        cluster.scheduler.node(f"{name}/node1")
    cluster.add_partition("host2")
    return cluster


def test_remove_calls_the_scheduler(cluster_of_two, gantt):
    assert gantt("host", "remove", "host2").code == 0
    assert cluster_of_two.scheduler.removed == ["host2"]
