# SPDX-License-Identifier: Apache-2.0
"""The state folder: one owner, safe names, atomic replacement."""

import os
from pathlib import Path

import pytest

from compute_agent import state_files
from compute_agent.state_files import FolderInUse, OwnedFolder
from rpcapi import errors


def test_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    first, second = OwnedFolder(tmp_path / "state"), OwnedFolder(tmp_path / "state")
    first.acquire()
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    with pytest.raises(FolderInUse, match="in use by another gantt-compute"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_folder_is_lost_with_its_lock_file(tmp_path: Path) -> None:
    first, second = OwnedFolder(tmp_path / "state"), OwnedFolder(tmp_path / "state")
    first.acquire()
    first.check()
    (tmp_path / "state" / "lock").unlink()
    with pytest.raises(FolderInUse, match="no longer owned by this gantt-compute"):
        first.check()
    second.acquire()
    second.check()
    with pytest.raises(FolderInUse, match="its lock file was replaced"):
        first.check()
    first.release()
    with pytest.raises(FolderInUse):
        first.check()
    second.release()


def test_unusable_folder_raises_bad_configuration(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.BadConfiguration, match="state_path is unusable"):
        OwnedFolder(tmp_path / "file" / "state").acquire()


@pytest.mark.parametrize("host", ["..", ".", ".hidden", "a/b", "a b", "node-1.site"])
def test_folder_name_is_a_direct_child_of_the_state_folder(tmp_path: Path, host: str) -> None:
    path = (tmp_path / state_files.folder_name(host)).resolve()
    assert path.parent == tmp_path.resolve()
    assert not path.name.startswith(".")


def test_file_is_replaced_atomically(tmp_path: Path) -> None:
    state_files.replace(tmp_path / "x", "old")
    state_files.replace(tmp_path / "x", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "new")]


def test_failed_replacement_leaves_the_former_content_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state_files.replace(tmp_path / "x", "old")

    def fail(_fd: int) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        state_files.replace(tmp_path / "x", "new")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "old")]
