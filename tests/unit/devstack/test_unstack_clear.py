# SPDX-License-Identifier: Apache-2.0
"""Cleaning up a run folder without a readable record."""

import os

import pytest

from devstack import unstack
from devstack.deploy.users.errors import FolderUnusable
from devstack.layout import Layout
from devstack.servers.process import ServerProcess


@pytest.fixture
def run(tmp_path):
    created = Layout(tmp_path / "run")
    created.make()
    return created


def test_missing_folder_has_nothing_to_stop(tmp_path):
    assert unstack.clear(Layout(tmp_path / "nothing")) == []


def test_processes_are_stopped_daemons_before_servers_and_the_folder_removed(run):
    (run.folder / "store").mkdir()
    paths = [run.folder / "compute.pid", run.folder / "store" / "redis.pid", run.folder / "scheduler.pid"]
    for path in paths[:2]:
        ServerProcess(path.stem, path, path.with_suffix(".log")).spawn(["sleep", "600"], dict(os.environ), run.folder)
    (run.folder / "compute.log").unlink(missing_ok=True)
    paths[2].write_text("1")  # of a process that ended long ago
    assert unstack.clear(run) == ["compute", "redis"]
    assert not run.folder.exists()


def test_folder_with_foreign_files_is_not_changed(run):
    (run.folder / "thesis.tex").touch()
    (run.folder / "compute.pid").write_text("1")
    with pytest.raises(FolderUnusable, match=r"contains files of no cluster: thesis\.tex"):
        unstack.clear(run)
    assert (run.folder / "compute.pid").exists()
