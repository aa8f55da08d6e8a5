# SPDX-License-Identifier: Apache-2.0
"""A bad configuration: exit status 78 and one line with the reason, before anything starts."""

import importlib.util
import logging
from pathlib import Path

import pytest
from oslo_config import cfg

from rpcapi import errors
from rpcapi.daemon import configuration, options
from tests.unit.rpcapi.daemon.conftest import ToyDaemon, eventually


def startup_error(toy: ToyDaemon) -> str:
    """Return the single line that the toy printed at exit."""
    assert toy.exit_status() == 78, toy.text()
    lines = toy.text().splitlines()
    assert len(lines) == 1, lines
    assert toy.events() == []
    return lines[0]


def test_missing_file_is_reported(toy: ToyDaemon) -> None:
    toy.start("--config-file", "/nowhere/gantt.conf")

    line = startup_error(toy)
    assert line.startswith("gantt-toy: Bad configuration: ")
    assert "/nowhere/gantt.conf" in line


def test_daemon_without_any_configuration_is_refused(toy: ToyDaemon) -> None:
    toy.start("--config-dir", str(toy.folder))

    line = startup_error(toy)
    assert "no configuration file was found and transport_url is not set" in line
    assert "/etc/gantt/gantt-toy.conf" in line
    assert "--config-file" in line


def test_transport_url_in_the_environment_is_a_configuration(toy: ToyDaemon) -> None:
    toy.start("--config-dir", str(toy.folder), OS_DEFAULT__TRANSPORT_URL="nonsense://host/")

    assert "unknown driver 'nonsense'" in startup_error(toy)


def test_malformed_file_is_reported(toy: ToyDaemon) -> None:
    toy.conf.write_text("executor eventlet\n")
    toy.start()

    assert str(toy.conf) in startup_error(toy)


@pytest.mark.parametrize(
    ("default", "option"),
    [
        ("executor = asyncio", "executor"),
        ("graceful_shutdown_timeout = soon", "graceful_shutdown_timeout"),
        ("worker_hang_timeout = 0", "worker_hang_timeout"),
        ("log_file = /nowhere/at/all/gantt.log", "/nowhere/at/all/gantt.log"),
    ],
)
def test_invalid_value_is_reported(toy: ToyDaemon, default: str, option: str) -> None:
    toy.configure(default)
    toy.start()

    assert option in startup_error(toy)


def test_executor_without_its_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    conf = cfg.ConfigOpts()
    options.register_opts(conf)
    conf([])
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    configuration.check_executor(conf)
    conf.set_override("executor", "eventlet")
    with pytest.raises(errors.BadConfiguration, match="pip install eventlet"):
        configuration.check_executor(conf)


def test_invalid_value_in_a_group_is_reported(toy: ToyDaemon) -> None:
    toy.configure(workers="many")
    toy.start()

    assert "workers" in startup_error(toy)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("nonsense://user:s3cret@host/", "unknown driver 'nonsense'; known: gantt-rabbit, gantt+redis, rabbit"),
        ("rabbit://user:s3cret/", "transport_url is malformed"),
        ("gantt-rabbit://user:word@one:1,user:s3cret", "transport_url is malformed"),
        ("rabbit:user:s3cret", "transport_url is malformed"),
        ("gantt+redis://user:s3cret@host/first", "the database in the URL is not a number: first"),
    ],
)
def test_invalid_transport_url_is_reported_without_credentials(toy: ToyDaemon, url: str, why: str) -> None:
    toy.configure(f"transport_url = {url}")
    toy.start()

    line = startup_error(toy)
    assert why in line
    assert "s3cret" not in line


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
