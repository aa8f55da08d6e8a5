# SPDX-License-Identifier: Apache-2.0
"""Paths of a run folder."""

import json
import tempfile

import pytest

from devstack import layout
from devstack.layout import ClusterRecordBroken, Layout


@pytest.fixture
def run(tmp_path):
    created = Layout(tmp_path / "run")
    created.make()
    return created


def test_run_folder_is_configured_or_the_user_s_own(monkeypatch, tmp_path):
    monkeypatch.setenv("GANTT_RUN", str(tmp_path))
    assert layout.default_folder() == tmp_path
    monkeypatch.delenv("GANTT_RUN")
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(layout.os, "getuid", lambda: 1234)
    assert layout.default_folder() == tmp_path / "gantt-1234"


def test_folders_are_private(run):
    assert {path.stat().st_mode & 0o777 for path in (run.folder, run.etc, run.log, run.state)} == {0o700}


def test_operator_s_configuration_is_named_after_the_command(run):
    assert run.conf("client").name == "gantt.conf"
    assert run.conf("scheduler").name == "scheduler.conf"


def test_folder_without_a_record_has_none(run, tmp_path):
    assert run.cluster_record is None
    assert Layout(tmp_path / "nothing").cluster_record is None


def test_record_is_read_and_a_broken_one_names_the_way_out(run):
    (run.folder / "cluster.json").write_text(json.dumps({"mode": "embedded"}))
    assert run.cluster_record == {"mode": "embedded"}
    (run.folder / "cluster.json").write_text("{")
    with pytest.raises(ClusterRecordBroken, match=r"unstack\.sh"):
        _ = run.cluster_record


def test_files_of_a_cluster_are_known_and_others_foreign(run):
    for name in ("cluster.json", "scheduler.pid", "volume.pid", "dashboard.pid", "stack.pid", ".cluster.json.x1y2"):
        (run.folder / name).touch()
    assert run.foreign_files() == []
    (run.folder / "thesis.tex").touch()
    assert run.foreign_files() == ["thesis.tex"]


def test_removed_folder_is_gone_and_removal_is_idempotent(run):
    for _ in range(2):
        run.remove()
        assert not run.present
