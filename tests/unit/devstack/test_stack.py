# SPDX-License-Identifier: Apache-2.0
"""stack.sh with an existing cluster, and after a failed or interrupted start."""

import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest

from devstack import stack
from devstack.cluster import DevstackCluster
from devstack.cluster_size import ClusterSize
from devstack.servers.process import ServerProcess

PARTS = ["store", "bus", "scheduler", "conductor", "compute"]


@pytest.fixture
def parts(tmp_path: Path, monkeypatch) -> Iterator[dict[str, ServerProcess]]:
    """A default cluster's folder with a sleeping process for each part."""
    folder = tmp_path / "run"
    monkeypatch.setenv("GANTT_RUN", str(folder))
    cluster = DevstackCluster(folder, ClusterSize())
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
    hint = stack._hint(DevstackCluster(tmp_path / "my run", ClusterSize()))
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
    monkeypatch.setattr(DevstackCluster, "start", lambda cluster: cluster.layout.make())
    monkeypatch.setattr(stack.exercise, "wait_for_nodes", fail)
    code = stack.main([])
    assert (code, capsys.readouterr().err.splitlines()[-1]) == failure
    assert not (tmp_path / "run").exists()
