# SPDX-License-Identifier: Apache-2.0
"""A cluster's record in its run folder."""

from dataclasses import asdict
from pathlib import Path

from devstack.cluster import Cluster
from devstack.cluster_size import ClusterSize, Mode


def test_mode_and_size_are_recorded_in_the_folder(tmp_path: Path) -> None:
    size = ClusterSize(mode=Mode.EMBEDDED, computes=4, schedulers=3)
    cluster = Cluster(tmp_path / "run", size)
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(size))
    recorded = Cluster.find(tmp_path / "run")
    assert recorded is not None
    assert recorded.size == size
    assert recorded.placement_url is None


def test_free_port_of_the_placement_api_is_picked_once_and_recorded(tmp_path: Path) -> None:
    cluster = Cluster(tmp_path / "run", ClusterSize(placement_port=0))
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(cluster.size))
    recorded = Cluster.find(tmp_path / "run")
    assert recorded is not None
    assert recorded.size.placement_port
    assert recorded.placement_url == cluster.placement_url == f"http://127.0.0.1:{recorded.size.placement_port}"
