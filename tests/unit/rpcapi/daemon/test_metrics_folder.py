# SPDX-License-Identifier: Apache-2.0
"""Folder of the workers' metrics: created empty, and emptied or removed at the end."""

import os
import signal
from pathlib import Path

import pytest

from rpcapi.daemon import metrics_folder
from tests.unit.rpcapi.daemon.conftest import ToyDaemon
from tests.unit.rpcapi.daemon.test_exporter import free_port, scrape, startup_error


def test_metric_files_of_an_earlier_run_are_removed_and_none_remain(toy: ToyDaemon) -> None:
    port, folder = free_port(), toy.folder / "figures"
    metrics = f"listen = 127.0.0.1:{port}\nfolder = {folder}"
    toy.begin(metrics=metrics)
    os.killpg(toy.pid, signal.SIGKILL)
    toy.exit_status()
    assert list(folder.iterdir())

    toy.notifications.clear()
    toy.begin(metrics=metrics)

    assert scrape(port)["gantt_toy_served_total"] == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    toy.signal(signal.SIGTERM)
    assert toy.exit_status() == 0
    assert list(folder.iterdir()) == []


def test_unusable_metrics_folder_is_reported(toy: ToyDaemon, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    toy.configure(metrics=f"listen = 127.0.0.1:0\nfolder = {tmp_path}/file/metrics")
    toy.start()

    assert "[metrics] folder cannot be used" in startup_error(toy)


def test_private_folder_is_removed_at_the_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RUNTIME_DIRECTORY", str(tmp_path))
    with metrics_folder.create("") as folder:
        assert (folder.parent, folder.stat().st_mode & 0o777) == (tmp_path, 0o700)
        (folder / "counter_0.db").touch()
    assert list(tmp_path.iterdir()) == []


def test_configured_folder_keeps_files_of_others(tmp_path: Path) -> None:
    for name in ("counter_0.db", "gauge_livesum_0.db", "histogram_1.db", "summary_1.db", "notes.db", "counter.txt"):
        (tmp_path / name).touch()
    with metrics_folder.create(str(tmp_path)) as folder:
        assert sorted(path.name for path in folder.iterdir()) == ["counter.txt", "notes.db"]
        (folder / "counter_0.db").touch()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["counter.txt", "notes.db"]


def test_only_live_gauges_of_a_dead_worker_are_removed(tmp_path: Path) -> None:
    kept_names = ["counter_1.db", "gauge_livesum_0.db", "gauge_livesum_11.db", "histogram_1.db"]
    for name in (*kept_names, "gauge_livesum_1.db", "gauge_livemax_1.db"):
        (tmp_path / name).touch()
    metrics_folder.remove_gauges(tmp_path, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == kept_names
