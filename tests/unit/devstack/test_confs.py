# SPDX-License-Identifier: Apache-2.0
"""Configuration files of a cluster."""

from pathlib import Path

import pytest

from devstack import confs
from devstack.cluster_size import ClusterSize
from devstack.layout import Layout


def test_only_the_scheduler_gets_the_stamp_key(tmp_path: Path) -> None:
    size = ClusterSize(computes=2, nodes_per_host=1, report_interval=1.0, churn=0.0)
    urls = confs.ServiceUrls("bus", "store", "secret")
    rendered = {
        name: str(confs.render(name, size, Layout(tmp_path), urls)) for name in ("scheduler", "conductor", "compute")
    }
    assert [name for name, text in rendered.items() if "secret" in text] == ["scheduler"]


def test_placement_gets_the_store_and_no_bus(tmp_path: Path) -> None:
    urls = confs.ServiceUrls(None, "store")
    groups = confs.render("placement", ClusterSize(placement_port=8778), Layout(tmp_path), urls)
    assert (groups["store"]["url"], groups["placement"]["port"]) == ("store", 8778)
    assert "DEFAULT" not in groups


def test_down_time_allows_missed_reports(tmp_path: Path) -> None:
    def seconds(interval: float) -> float:
        size = ClusterSize(computes=200, nodes_per_host=50, report_interval=interval, churn=0.1)
        layout = Layout(tmp_path)
        compute = confs.render("compute", size, layout, confs.ServiceUrls("bus", None))
        assert (compute["compute"]["report_interval"], compute["simulator"]["churn"]) == (interval, 0.1)
        scheduler = confs.render("scheduler", size, layout, confs.ServiceUrls("bus", "store"))
        return scheduler["store"]["service_down_time"]  # type: ignore[return-value]

    assert (seconds(10.0), seconds(60.0)) == (60.0, 180.0)


@pytest.mark.parametrize("executor", ["eventlet", "threading"])
def test_daemons_run_on_the_executor_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, executor: str
) -> None:
    monkeypatch.setenv("GANTT_EXECUTOR", executor)
    for name in ("scheduler", "conductor", "compute"):
        rendered = confs.render(name, ClusterSize(), Layout(tmp_path), confs.ServiceUrls("bus", "store"))
        assert rendered["DEFAULT"]["executor"] == executor
