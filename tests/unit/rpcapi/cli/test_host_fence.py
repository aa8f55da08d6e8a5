# SPDX-License-Identifier: Apache-2.0
"""``gantt host fence``."""

import pytest


@pytest.fixture
def cluster_of_two(cluster):
    for name in ("host1", "host2"):
        cluster.scheduler.service(name)
        cluster.scheduler.node(f"{name}/node1")
    cluster.add_partition("host2")
    return cluster


def test_fence_without_yes_explains_and_does_nothing(cluster, gantt):
    cluster.scheduler.service("host1")
    cluster.claims.claim("a", host="host1/node1")
    result = gantt("host", "fence", "host1")
    assert result.code == 1 and cluster.claims.fenced == []
    assert result.err == (
        "Fencing host1 means: the machine is off or isolated; its claims end; its guests are lost to gantt. "
        "Use --yes to confirm\n"
    )
    result = gantt("host", "fence", "host1", "--yes")
    assert (result.code, cluster.claims.fenced) == (0, ["host1"])
    assert "host1 is fenced: 1 claims ended" in result.err


def test_fence_of_an_unknown_host_is_one_line(cluster, gantt):
    result = gantt("host", "fence", "host9", "--yes")
    assert (result.code, result.err) == (1, "Unknown host or node 'host9'; see 'gantt host list'\n")


def test_host_is_fenced_in_its_own_partition(cluster_of_two, gantt):
    cluster_of_two.claims2.claim("b", host="host2/node1")
    assert gantt("host", "fence", "host2", "--yes").code == 0
    assert (cluster_of_two.claims.fenced, cluster_of_two.claims2.fenced) == ([], ["host2"])
