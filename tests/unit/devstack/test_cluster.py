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
