# SPDX-License-Identifier: Apache-2.0
"""The state folder: one owner, safe names, whole files."""

from pathlib import Path

import pytest
from oslo_config import cfg

from compute_agent import conf as compute_conf
from compute_agent import state_files
from compute_agent.conf import state_path
from compute_agent.state_files import FolderInUse, OwnedFolder
from rpcapi import errors


def test_a_folder_has_one_owner_at_a_time(tmp_path: Path) -> None:
    first, second = OwnedFolder(tmp_path / "state"), OwnedFolder(tmp_path / "state")
    first.acquire()
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
    with pytest.raises(FolderInUse, match="in use by another gantt-compute"):
        second.acquire()
    first.release()
    second.acquire()
    second.release()


def test_a_folder_that_cannot_be_had_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(errors.BadConfiguration, match="state_path cannot be used"):
        OwnedFolder(tmp_path / "file" / "state").acquire()


@pytest.mark.parametrize("host", ["..", ".", ".hidden", "a/b", "a b", "node-1.site"])
def test_a_hosts_folder_is_a_plain_name_below_the_state_folder(tmp_path: Path, host: str) -> None:
    path = (tmp_path / state_files.folder_name(host)).resolve()
    assert path.parent == tmp_path.resolve()
    assert not path.name.startswith(".")


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    state_files.replace(tmp_path / "x", "old")
    state_files.replace(tmp_path / "x", "new", durable=True)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("x", "new")]


def test_the_state_is_where_it_is_configured_or_the_service_manager_says(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    compute_conf.register_opts(conf)
    monkeypatch.setenv("XDG_STATE_HOME", "/x/state")
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert state_path.state_folder(conf) == Path("/x/state/gantt/compute")
    monkeypatch.setenv("STATE_DIRECTORY", "/var/lib/gantt:/var/lib/other")
    assert state_path.state_folder(conf) == Path("/var/lib/gantt")
    conf.set_override("state_path", "/srv/gantt", group="compute")
    assert state_path.state_folder(conf) == Path("/srv/gantt")
