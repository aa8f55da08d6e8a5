# SPDX-License-Identifier: Apache-2.0
"""Servers in temporary folders, and what a killed lab left behind."""

import os
import subprocess
import tempfile
from pathlib import Path

import pytest

from devstack.lab import private_servers
from devstack.servers.process import ServerProcess


def test_server_and_folder_are_removed_after_an_error():
    with pytest.raises(KeyError), private_servers.running_redis("no") as server:
        assert server.client().ping()
        raise KeyError
    assert server.pid is None
    assert not server.folder.exists()


def test_leftovers_of_a_killed_process_are_removed_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given folders of a process that has ended, of this one and of nobody, and a server in the first
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen(["true"]) as ended:
        pass
    left, own, other = (tmp_path / f"gantt-lab-{name}" for name in (f"{ended.pid}-a", f"{os.getpid()}-b", "my-plots"))
    for folder in (left, own, other):
        folder.mkdir()
    server = ServerProcess("sleep", left / "sleep.pid", left / "sleep.log")
    server.spawn(["sleep", "600"], os.environ, left)
    # When leftovers are removed
    private_servers.remove_leftovers()
    # Then the first is gone with its server
    assert server.pid is None
    assert (left.exists(), own.exists(), other.exists()) == (False, True, True)
