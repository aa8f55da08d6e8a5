# SPDX-License-Identifier: Apache-2.0
"""The size of a cluster."""

from devstack.cluster_size import ClusterSize


def test_every_cluster_has_the_three_daemons_and_optional_ones_by_its_size():
    core = ("scheduler", "conductor", "compute")
    assert ClusterSize().daemons == core
    assert ClusterSize(pools=2).daemons == (*core, "volume", "publisher")
    assert ClusterSize(networks=1).daemons == (*core, "network", "publisher")
    assert ClusterSize(placement_port=0).daemons == (*core, "placement")
    assert ClusterSize(pools=1, networks=1).daemons == (*core, "volume", "network", "publisher")


def test_all_daemons_but_the_publisher_export_metrics_where_the_size_says_so():
    assert ClusterSize(pools=1, placement_port=1, metrics=True).exporters == (
        *("scheduler", "conductor", "compute", "volume", "placement"),
    )
    assert ClusterSize(placement_port=1).exporters == ()


def test_nodes_are_those_of_all_hosts():
    assert ClusterSize(computes=3, nodes_per_host=7).nodes == 21
