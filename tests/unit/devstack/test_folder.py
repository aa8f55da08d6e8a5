# SPDX-License-Identifier: Apache-2.0
"""A run folder that others own or may write to is neither used nor believed nor removed."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from devstack import stack, unstack
from devstack.cluster import Cluster, ClusterSize
from devstack.layout import Layout
from devstack.servers.errors import FolderUnusable
from devstack.servers.folder import private_folder
from devstack.servers.process import start_ticks

STRANGER = 65534


def symlinked(folder: Path) -> None:
    real = folder.with_name("elsewhere")
    folder.rename(real)
    folder.symlink_to(real)


def writable_by_all(folder: Path) -> None:
    folder.chmod(0o777)


def writable_by_the_group(folder: Path) -> None:
    folder.chmod(0o770)


def somebody_elses(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("ONLY ROOT CAN GIVE A FOLDER AWAY: the case of a foreign owner is not tested here")
    os.chown(folder, STRANGER, STRANGER)


SPOILED: dict[Callable[[Path], None], str] = {
    symlinked: "symbolic link",
    writable_by_all: "mode 777",
    writable_by_the_group: "mode 770",
    somebody_elses: f"belongs to the user with id {STRANGER}",
}


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"], start_new_session=True) as process:
        yield process
        process.kill()


@pytest.fixture(params=SPOILED, ids=lambda spoil: spoil.__name__)
def planted(request, tmp_path: Path, victim, monkeypatch) -> tuple[Path, str]:
    """A run folder as an attacker would lay it out: its card is right and its pid file names our process."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    (folder / "cluster.json").write_text(json.dumps({"mode": "embedded"}))
    record = {"pid": victim.pid, "start_ticks": start_ticks(victim.pid)}
    (folder / "compute.pid").write_text(json.dumps(record))
    spoil: Callable[[Path], None] = request.param
    spoil(folder)
    monkeypatch.setenv("GANTT_RUN", str(folder))
    return folder, SPOILED[spoil]


def test_it_is_not_used(planted) -> None:
    folder, why = planted
    mode = folder.stat().st_mode
    with pytest.raises(FolderUnusable, match=why):
        private_folder(folder)
    assert folder.stat().st_mode == mode


@pytest.mark.parametrize("use", [Cluster.find, lambda folder: Layout(folder).cluster_record], ids=["find", "card"])
def test_what_it_tells_is_not_believed(planted, use) -> None:
    folder, why = planted
    with pytest.raises(FolderUnusable, match=why):
        use(folder)


@pytest.mark.parametrize("act", [Cluster.start, Cluster.destroy])
def test_a_cluster_neither_starts_nor_clears_away_there(planted, victim, act) -> None:
    folder, why = planted
    with pytest.raises(FolderUnusable, match=why):
        act(Cluster(folder, ClusterSize()))
    assert victim.poll() is None
    assert (folder / "cluster.json").exists()


@pytest.mark.parametrize("card", [None, "{"])
@pytest.mark.parametrize("main", [lambda: stack.main([]), unstack.main], ids=["stack", "unstack"])
def test_no_command_touches_it(planted, victim, capsys, main, card) -> None:
    folder, why = planted
    if card is not None:
        (folder / "cluster.json").write_text(card)
    assert main() == 1
    assert why in capsys.readouterr().err
    assert victim.poll() is None
    assert (folder / "compute.pid").exists()


def test_our_own_is_closed_to_others(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir(mode=0o755)
    assert private_folder(folder).stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("path", ["file", "file/below"])
@pytest.mark.parametrize("main", [lambda: stack.main([]), unstack.main], ids=["stack", "unstack"])
def test_a_plain_file_is_told_in_one_line(tmp_path, monkeypatch, capsys, main, path) -> None:
    (tmp_path / "file").write_text("a letter")
    monkeypatch.setenv("GANTT_RUN", str(tmp_path / path))
    assert main() == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "The run folder" in line
    with pytest.raises(FolderUnusable, match="The run folder"):
        private_folder(tmp_path / path)
    assert (tmp_path / "file").read_text() == "a letter"
