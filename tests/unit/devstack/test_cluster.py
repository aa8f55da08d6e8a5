# SPDX-License-Identifier: Apache-2.0
"""A cluster's record in its run folder."""

import json
from dataclasses import asdict
from pathlib import Path

from devstack.cluster import DevstackCluster
from devstack.cluster_size import ClusterSize, Mode


def test_mode_and_size_are_recorded_in_the_folder(tmp_path: Path) -> None:
    size = ClusterSize(mode=Mode.EMBEDDED, computes=4, schedulers=3)
    cluster = DevstackCluster(tmp_path / "run", size)
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(size))
    recorded = DevstackCluster.find(tmp_path / "run")
    assert recorded is not None
    assert recorded.size == size
    assert recorded.placement_url is None


def test_free_port_of_the_placement_api_is_picked_once_and_recorded(tmp_path: Path) -> None:
    cluster = DevstackCluster(tmp_path / "run", ClusterSize(placement_port=0))
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(cluster.size))
    recorded = DevstackCluster.find(tmp_path / "run")
    assert recorded is not None
    assert recorded.size.placement_port
    assert recorded.placement_url == cluster.placement_url == f"http://127.0.0.1:{recorded.size.placement_port}"


def test_free_ports_of_the_exporters_are_picked_once_recorded_and_scraped(tmp_path: Path) -> None:
    cluster = DevstackCluster(tmp_path / "run", ClusterSize(metrics=True))
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(cluster.size))
    recorded = DevstackCluster.find(tmp_path / "run")
    assert recorded is not None
    ports = recorded.size.metrics_ports
    assert ports.keys() == set(cluster.daemons) and len(set(ports.values())) == len(ports)
    assert ports == cluster.size.metrics_ports
    cluster.write_confs()
    for name, port in ports.items():
        assert f"[metrics]\nlisten = 127.0.0.1:{port}\n" in cluster.layout.conf(name).read_text()
    (job,) = json.loads(cluster.layout.prometheus_conf.read_text())["scrape_configs"]
    assert [target["targets"] for target in job["static_configs"]] == [[f"127.0.0.1:{port}"] for port in ports.values()]


def test_a_cluster_without_metrics_has_no_exporters(tmp_path: Path) -> None:
    cluster = DevstackCluster(tmp_path / "run", ClusterSize())
    cluster.layout.make()
    cluster.write_confs()
    assert "[metrics]" not in cluster.layout.conf("scheduler").read_text()
    assert not cluster.layout.prometheus_conf.exists()
