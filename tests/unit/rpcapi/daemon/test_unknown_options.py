# SPDX-License-Identifier: Apache-2.0
"""Options in the configuration files that no code reads."""

import logging
from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi.daemon import configuration
from tests.unit.rpcapi.daemon.conftest import ToyDaemon, eventually


def test_unknown_option_is_logged(toy: ToyDaemon) -> None:
    toy.begin(default="exekutor = eventlet", greting="hello")

    unknown = [
        f"{toy.conf}: unknown option '{name}' in section [{section}]"
        for section, name in (("DEFAULT", "exekutor"), ("toy", "greting"))
    ]
    eventually(lambda: all(line in toy.text() for line in unknown), f"{unknown}")
    assert "'executor'" not in toy.text()


def test_unknown_section_is_no_warning_and_an_unreadable_file_is_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path, folder = tmp_path / "a.conf", tmp_path / "conf.d"
    folder.mkdir()
    path.write_text("[DEFAULT]\nlog-file = x\n[toy]\nfolder = y\n[another-daemon]\nz = 1\n")
    (folder / "b.conf").write_text("[toy]\nfoldre = y\n")
    conf = cfg.ConfigOpts()
    conf.register_opts([cfg.StrOpt("log_file")])
    conf.register_opts([cfg.StrOpt("folder")], group="toy")
    conf(["--config-file", str(path), "--config-dir", str(folder)], project="gantt")
    configuration.warn_of_unknown_options(conf)
    (line,) = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert line == f"{folder / 'b.conf'}: unknown option 'foldre' in section [toy]; check its spelling"

    caplog.clear()
    path.unlink()
    configuration.warn_of_unknown_options(conf)
    assert f"{path} can no longer be read" in caplog.text

    caplog.clear()
    path.write_text("[toy\nthis is no configuration")
    configuration.warn_of_unknown_options(conf)
    assert f"{path} can no longer be read" in caplog.text
