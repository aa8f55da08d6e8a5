# SPDX-License-Identifier: Apache-2.0
"""A run folder that others own or may write to is neither used nor trusted nor removed."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devstack import stack, unstack
from devstack.cluster import DevstackCluster
from devstack.cluster_size import ClusterSize
from devstack.deploy.users.errors import FolderUnusable
from devstack.deploy.users.folder import private_folder
from devstack.layout import Layout
from devstack.servers.process import start_ticks

OTHER_USER = 65534


def symlinked(folder: Path) -> None:
    real = folder.with_name("elsewhere")
    folder.rename(real)
    folder.symlink_to(real)


def writable_by_all(folder: Path) -> None:
    folder.chmod(0o777)


def writable_by_the_group(folder: Path) -> None:
    folder.chmod(0o770)


def owned_by_another_user(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("ONLY ROOT CAN GIVE A FOLDER AWAY: the case of a foreign owner is not tested here")
    os.chown(folder, OTHER_USER, OTHER_USER)


UNSAFE_FOLDERS: dict[Callable[[Path], None], str] = {
    symlinked: "symbolic link",
    writable_by_all: "mode 777",
    writable_by_the_group: "mode 770",
    owned_by_another_user: f"belongs to the user with id {OTHER_USER}",
}


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


@pytest.fixture(params=UNSAFE_FOLDERS, ids=lambda make_unsafe: make_unsafe.__name__)
def unsafe_folder(request, tmp_path: Path, victim, monkeypatch) -> tuple[Path, str]:
    """A run folder prepared by an attacker: its record is valid and its pid file names the user's process."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    (folder / "cluster.json").write_text(json.dumps({"mode": "embedded"}))
    record = {"pid": victim.pid, "start_ticks": start_ticks(victim.pid)}
    (folder / "compute.pid").write_text(json.dumps(record))
    make_unsafe: Callable[[Path], None] = request.param
    make_unsafe(folder)
    monkeypatch.setenv("GANTT_RUN", str(folder))
    return folder, UNSAFE_FOLDERS[make_unsafe]


def test_unsafe_folder_is_not_used(unsafe_folder) -> None:
    folder, message = unsafe_folder
    mode = folder.stat().st_mode
    with pytest.raises(FolderUnusable, match=message):
        private_folder(folder)
    assert folder.stat().st_mode == mode


@pytest.mark.parametrize(
    "use", [DevstackCluster.find, lambda folder: Layout(folder).cluster_record], ids=["find", "cluster_record"]
)
def test_record_in_an_unsafe_folder_is_not_read(unsafe_folder, use) -> None:
    folder, message = unsafe_folder
    with pytest.raises(FolderUnusable, match=message):
        use(folder)


@pytest.mark.parametrize("act", [DevstackCluster.start, DevstackCluster.destroy])
def test_cluster_neither_starts_nor_removes_an_unsafe_folder(unsafe_folder, victim, act) -> None:
    folder, message = unsafe_folder
    with pytest.raises(FolderUnusable, match=message):
        act(DevstackCluster(folder, ClusterSize()))
    assert victim.poll() is None
    assert (folder / "cluster.json").exists()


@pytest.mark.parametrize("record", [None, "{"])
@pytest.mark.parametrize("main", [lambda: stack.main([]), lambda: unstack.main([])], ids=["stack", "unstack"])
def test_no_command_changes_an_unsafe_folder(unsafe_folder, victim, capsys, main, record) -> None:
    folder, message = unsafe_folder
    if record is not None:
        (folder / "cluster.json").write_text(record)
    assert main() == 1
    assert message in capsys.readouterr().err
    assert victim.poll() is None
    assert (folder / "compute.pid").exists()


def test_own_folder_gets_mode_0700(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    assert private_folder(folder).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("path", ["file", "file/below"])
@pytest.mark.parametrize("main", [lambda: stack.main([]), lambda: unstack.main([])], ids=["stack", "unstack"])
def test_plain_file_is_reported_in_one_line(tmp_path, monkeypatch, capsys, main, path) -> None:
    (tmp_path / "file").write_text("a letter")
    monkeypatch.setenv("GANTT_RUN", str(tmp_path / path))
    assert main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "The run folder" in line
    with pytest.raises(FolderUnusable, match="The run folder"):
        private_folder(tmp_path / path)
    assert (tmp_path / "file").read_text() == "a letter"
