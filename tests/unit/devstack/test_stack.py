# SPDX-License-Identifier: Apache-2.0
"""stack.sh with an existing cluster, and with invalid options."""

import os
import shlex
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
    """A default cluster's folder with a sleeping process for each part."""
    folder = tmp_path / "run"
    monkeypatch.setenv("GANTT_RUN", str(folder))
    cluster = Cluster(folder, ClusterSize())
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(cluster.size))
    processes = dict(cluster.daemons)
    for name in ("store", "bus"):
        server = folder / name
        server.mkdir(mode=0o700)
        processes[name] = ServerProcess(name, server / "redis.pid", server / "redis.log")
    for process in processes.values():
        process.spawn(["sleep", "600"], os.environ, folder)
    yield processes
    for process in processes.values():
        process.kill()


def test_complete_cluster_is_reported_as_up(parts, capsys) -> None:
    assert stack.main([]) == 0
    output = capsys.readouterr()
    assert f"already up: {', '.join(PARTS)}." in output.out
    assert "as requested" not in output.out
    assert output.err == ""


@pytest.mark.parametrize("part", PARTS)
def test_incomplete_cluster_is_reported_with_advice(parts, capsys, part: str) -> None:
    parts[part].kill()
    assert stack.main([]) == 1
    output = capsys.readouterr()
    assert "already up" not in output.out
    (line,) = output.err.splitlines()
    assert f"is incomplete: {part} ended" in line
    assert "unstack.sh, then stack.sh again" in line
    running = [name for name in PARTS if parts[name].pid]
    assert running == [name for name in PARTS if name != part]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--standard"], "not the standard cluster"),
        (["--computes", "3"], "30 nodes on 3 service hosts"),
        (["--computes", "200", "--nodes", "50"], "10000 nodes on 200 service hosts"),
        (["--schedulers", "4"], "not the embedded cluster (4 scheduler workers"),
    ],
)
def test_cluster_of_another_mode_or_size_is_reported(parts, capsys, options: list[str], message: str) -> None:
    assert stack.main(options) == 0
    output = capsys.readouterr().out
    assert "It is the embedded cluster (2 scheduler workers, 1 conductor, 100 nodes on 10 service hosts)" in output
    assert message in output


def test_hint_quotes_paths_with_blanks(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(stack.sys, "executable", "/opt/my env/bin/python")
    hint = stack._hint(Cluster(tmp_path / "my run", ClusterSize()))
    words = shlex.split(hint)
    assert f"GANTT_CONFIG_FILE={tmp_path}/my run/etc/gantt.conf;" in words
    assert "/opt/my env/bin/gantt" in words


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        (KeyboardInterrupt(), (130, "stack.sh: interrupted. The cluster was stopped.")),
        (TimeoutError("only 1 of 100 nodes"), (1, "stack.sh: only 1 of 100 nodes. The cluster was stopped.")),
        (AssertionError(), (1, "stack.sh: AssertionError. The cluster was stopped.")),
    ],
)
def test_failed_or_interrupted_start_stops_the_cluster(
    tmp_path: Path, monkeypatch, capsys, error: BaseException, failure: tuple[int, str]
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setenv("GANTT_RUN", str(tmp_path / "run"))
    monkeypatch.setattr(Cluster, "start", lambda cluster: cluster.layout.make())
    monkeypatch.setattr(stack.exercise, "wait_for_nodes", fail)
    code = stack.main([])
    assert (code, capsys.readouterr().err.splitlines()[-1]) == failure
    assert not (tmp_path / "run").exists()


def test_mode_and_size_are_recorded_in_the_folder(tmp_path: Path) -> None:
    size = ClusterSize(mode=Mode.EMBEDDED, computes=4, schedulers=3)
    cluster = Cluster(tmp_path / "run", size)
    cluster.layout.make()
    cluster.layout.write_cluster_record(asdict(size))
    recorded = Cluster.find(tmp_path / "run")
    assert recorded is not None
    assert recorded.size == size


@pytest.mark.parametrize("text", ["0", "-1", "100001", "many", "1.5", "", "1_0", "٣", "9" * 5000])
@pytest.mark.parametrize(
    "option", ["--computes", "--nodes", "--servers", "--schedulers", "--amqp-port", "--redis-port"]
)
def test_invalid_number_is_reported_in_a_sentence(capsys, option: str, text: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        stack.main([f"{option}={text}"])
    assert exit_info.value.code == 2
    output = capsys.readouterr().err
    assert f"{text!r} is not a " in output
    assert "invalid" not in output


@pytest.mark.parametrize("text", ["-0.1", "1.01", "nan", "inf", "half", "", "0_1", "٣"])
def test_invalid_share_is_reported_in_a_sentence(capsys, text: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        stack.main([f"--churn={text}"])
    assert exit_info.value.code == 2
    assert f"{text!r} is not a share from 0 to 1" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["0", "0.99", "3601", "nan", "-5", "1e9"])
def test_invalid_interval_is_reported_in_a_sentence(capsys, text: str) -> None:
    with pytest.raises(SystemExit) as exit_info:
        stack.main([f"--report-interval={text}"])
    assert exit_info.value.code == 2
    assert f"{text!r} is not a number of seconds from 1 to 3600" in capsys.readouterr().err


def test_too_many_nodes_are_refused_before_anything_starts(capsys, monkeypatch) -> None:
    monkeypatch.setattr(stack, "default_folder", lambda: pytest.fail("the folder must not be used"))
    with pytest.raises(SystemExit) as exit_info:
        stack.main(["--computes=2001", "--nodes=50"])
    assert exit_info.value.code == 2
    assert "100050 nodes are more than the 100000" in capsys.readouterr().err


def test_down_time_allows_missed_reports(tmp_path: Path) -> None:
    def seconds(interval: float) -> float:
        size = ClusterSize(computes=200, nodes_per_host=50, report_interval=interval, churn=0.1)
        layout = Layout(tmp_path)
        compute = confs.render("compute", size, layout, confs.Urls("bus", None))
        assert (compute["compute"]["report_interval"], compute["simulator"]["churn"]) == (interval, 0.1)
        scheduler = confs.render("scheduler", size, layout, confs.Urls("bus", "store"))
        return scheduler["store"]["service_down_time"]  # type: ignore[return-value]

    assert (seconds(10.0), seconds(60.0)) == (60.0, 180.0)
