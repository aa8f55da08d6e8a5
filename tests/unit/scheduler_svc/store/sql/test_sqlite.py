# SPDX-License-Identifier: Apache-2.0
"""SQLite files: paths, and restarts of the machine."""

from pathlib import Path

import pytest

from rpcapi import errors
from scheduler_svc.store.records import Durability
from scheduler_svc.store.sql import SqlStore, sqlite


@pytest.mark.parametrize(("durability", "is_news"), [("everysec", True), ("always", False)])
def test_file_after_a_machine_restart_begins_an_epoch(
    durability: Durability, is_news: bool, run_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boot = run_folder / "boot_id"
    monkeypatch.setattr(sqlite, "BOOT_ID", boot)
    url = f"sqlite:///{run_folder / 'store.sqlite'}"
    for number, identity in enumerate(("first", "first", "second")):
        boot.write_text(identity)
        store = SqlStore(url, "p1", durability=durability)
        assert store.check_identity()[1] is (is_news and number == 2)
        store.close()


@pytest.mark.parametrize("url", ["sqlite:///not/absolute.sqlite", "sqlite://", "sqlite:///:memory:"])
def test_relative_sqlite_path_is_rejected(url: str) -> None:
    with pytest.raises(errors.BadConfiguration, match="sqlite:////absolute"):
        SqlStore(url, "p1")
