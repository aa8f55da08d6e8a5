# SPDX-License-Identifier: Apache-2.0
"""What stack.sh says of a cluster that is there already, and of options that make no sense."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from devstack import confs, stack
from devstack.cluster import Cluster, ClusterSize, Mode
from devstack.layout import Layout
from devstack.servers.process import ServerProcess

PARTS = ["store", "bus", "scheduler", "conductor", "compute"]


@pytest.fixture
def parts(tmp_path: Path, monkeypatch) -> Iterator[dict[str, ServerProcess]]:
    """A default cluster's folder, in which each part is a process that only sleeps."""
    folder = tmp_path / "run"
    monkeypatch.setenv("GANTT_RUN", str(folder))
    cluster = Cluster(folder, ClusterSize())
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(cluster.size))
    made = dict(cluster.daemons)
    for name in ("store", "bus"):
        server = folder / name
        server.mkdir(mode=0o700)
        made[name] = ServerProcess(name, server / "redis.pid", server / "redis.log")
    for process in made.values():
        process.spawn(["sleep", "600"], os.environ, folder)
    yield made
    for process in made.values():
        process.kill()


def test_a_whole_one_is_up(parts, capsys) -> None:
    assert stack.main([]) == 0
    said = capsys.readouterr()
    assert f"already up: {', '.join(PARTS)}." in said.out
    assert "asked for" not in said.out
    assert said.err == ""


@pytest.mark.parametrize("part", PARTS)
def test_one_that_lost_a_part_is_not_and_it_is_said_how_to_go_on(parts, capsys, part: str) -> None:
    parts[part].kill()
    assert stack.main([]) == 1
    said = capsys.readouterr()
    assert "already up" not in said.out
    (line,) = said.err.splitlines()
    assert f"not whole: {part} ended" in line
    assert "unstack.sh, then stack.sh again" in line
    still = [name for name in PARTS if parts[name].pid]
    assert still == [name for name in PARTS if name != part]


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        (["--standard"], "not the standard cluster"),
        (["--computes", "3"], "30 nodes on 3 service hosts"),
        (["--computes", "200", "--nodes", "50"], "10000 nodes on 200 service hosts"),
        (["--schedulers", "4"], "not the embedded cluster (4 scheduler workers"),
    ],
)
def test_one_of_another_mode_or_size_is_told_apart(parts, capsys, options: list[str], wanted: str) -> None:
    assert stack.main(options) == 0
    said = capsys.readouterr().out
    assert "It is the embedded cluster (2 scheduler workers, 1 conductor, 100 nodes on 10 service hosts)" in said
    assert wanted in said


def test_mode_and_size_are_kept_in_the_folder(tmp_path: Path) -> None:
    size = ClusterSize(mode=Mode.EMBEDDED, computes=4, schedulers=3)
    cluster = Cluster(tmp_path / "run", size)
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(size))
    found = Cluster.find(tmp_path / "run")
    assert found is not None
    assert found.size == size


@pytest.mark.parametrize("text", ["0", "-1", "100001", "many", "1.5", "", "1_0", "٣", "9" * 5000])
@pytest.mark.parametrize(
    "option", ["--computes", "--nodes", "--servers", "--schedulers", "--amqp-port", "--redis-port"]
)
def test_a_number_that_makes_no_sense_is_told_in_a_sentence(capsys, option: str, text: str) -> None:
    with pytest.raises(SystemExit) as left:
        stack.main([f"{option}={text}"])
    assert left.value.code == 2
    said = capsys.readouterr().err
    assert f"{text!r} is not a " in said
    assert "invalid" not in said


@pytest.mark.parametrize("text", ["-0.1", "1.01", "nan", "inf", "half", "", "0_1", "٣"])
def test_a_share_that_makes_no_sense_is_told_in_a_sentence(capsys, text: str) -> None:
    with pytest.raises(SystemExit) as left:
        stack.main([f"--churn={text}"])
    assert left.value.code == 2
    assert f"{text!r} is not a share from 0 to 1" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "0.99", "3601", "nan", "-5", "1e9"])
def test_an_interval_that_makes_no_sense_is_told_in_a_sentence(capsys, text: str) -> None:
    with pytest.raises(SystemExit) as left:
        stack.main([f"--report-interval={text}"])
    assert left.value.code == 2
    assert f"{text!r} is not a number of seconds from 1 to 3600" in capsys.readouterr().err


def test_more_nodes_than_one_agent_simulates_are_refused_before_anything_starts(capsys, monkeypatch) -> None:
    monkeypatch.setattr(stack, "default_folder", lambda: pytest.fail("nothing is to be looked at"))
    with pytest.raises(SystemExit) as left:
        stack.main(["--computes=2001", "--nodes=50"])
    assert left.value.code == 2
    assert "100050 nodes are more than the 100000" in capsys.readouterr().err


def test_a_host_may_miss_reports_before_it_counts_as_down(tmp_path: Path) -> None:
    def seconds(interval: float) -> float:
        size = ClusterSize(computes=200, nodes_per_host=50, report_interval=interval, churn=0.1)
        layout = Layout(tmp_path)
        compute = confs.render("compute", size, layout, confs.Urls("bus", None))
        assert (compute["compute"]["report_interval"], compute["simulator"]["churn"]) == (interval, 0.1)
        scheduler = confs.render("scheduler", size, layout, confs.Urls("bus", "store"))
        return scheduler["store"]["service_down_time"]  # type: ignore[return-value]

    assert (seconds(10.0), seconds(60.0)) == (60.0, 180.0)
