# SPDX-License-Identifier: Apache-2.0
"""A restored backup is all that is left of a partition."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from devstack.lab.chaos.faults import stores


class Server:
    """A server with a folder of data, which notes what remains at each kill."""

    replica_of: object = "the other"

    def __init__(self, folder: Path, killed: list[list[bool]]) -> None:
        self.folder = folder
        self.killed = killed
        (folder / "data").mkdir(parents=True)
        (folder / "data" / "file").write_text(folder.name)

    def kill(self) -> None:
        self.killed.append([(self.folder.parent / name / "data").exists() for name in ("primary", "replica")])

    def start(self) -> None:
        assert len(self.killed) == 2


def test_both_servers_are_killed_before_any_data_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[list[bool]] = []
    primary, replica = (Server(tmp_path / name, killed) for name in ("primary", "replica"))
    group: Any = SimpleNamespace(servers=[primary, replica], primary=lambda: primary)
    fault: Any = SimpleNamespace(chance=SimpleNamespace(uniform=lambda _low, _high: 0.0))
    monkeypatch.setattr(stores, "restore_roles", lambda _group: None)
    assert list(stores.restore_backup(fault, "p", group)) == ["0.0 s old"]
    assert killed == [[True, True], [True, True]]
    assert (primary.folder / "data" / "file").read_text() == "primary"
    assert not (replica.folder / "data").exists()
