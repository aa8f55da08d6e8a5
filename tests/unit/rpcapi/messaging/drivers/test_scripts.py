# SPDX-License-Identifier: Apache-2.0
"""The bus's Lua scripts."""

from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi.messaging import bus
from rpcapi.messaging.drivers import errors as bus_errors
from rpcapi.messaging.drivers import scripts


def test_missing_script_is_reported_when_the_transport_is_created(
    conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(scripts, "FOLDER", tmp_path)
    scripts.text.cache_clear()
    with pytest.raises(bus_errors.BusInstallationError, match=r"claim\.lua cannot be read.* Reinstall gantt"):
        bus.get_transport(conf, "gantt+redis:///0?socket=/nowhere/redis.sock")


def test_verbs_match_the_script_files() -> None:
    assert {f"{verb}.lua" for verb in scripts.VERBS} == {file.name for file in scripts.FOLDER.glob("*.lua")}


def test_all_scripts_are_read_at_once() -> None:
    scripts.text.cache_clear()
    scripts.load()
    assert scripts.text.cache_info().currsize == len(scripts.VERBS)
