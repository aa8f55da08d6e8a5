# SPDX-License-Identifier: Apache-2.0
"""A bad configuration: exit status 78 and one line with the reason, before anything starts."""

import socket
from pathlib import Path

import pytest

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


@pytest.mark.parametrize("listen", ["9100", "localhost:", ":9100", "127.0.0.1:http", "127.0.0.1:99999"])
def test_malformed_metrics_address_is_reported(toy: ToyDaemon, listen: str) -> None:
    toy.configure(metrics=f"listen = {listen}")
    toy.start()

    assert f"[metrics] listen = '{listen}' is not host:port" in startup_error(toy)


def test_metrics_address_in_use_is_reported(toy: ToyDaemon) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other_server:
        toy.configure(metrics=f"listen = 127.0.0.1:{other_server.getsockname()[1]}")
        toy.start()

        assert "Address already in use" in startup_error(toy)


def test_unusable_metrics_folder_is_reported(toy: ToyDaemon, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    toy.configure(metrics=f"listen = 127.0.0.1:0\nfolder = {tmp_path}/file/metrics")
    toy.start()

    assert "[metrics] folder cannot be used" in startup_error(toy)


def test_configuration_error_of_the_service_is_logged_by_one_worker(toy: ToyDaemon, executor: str) -> None:
    toy.configure(f"executor = {executor}", start="refuse", workers=3)
    toy.start()

    assert toy.exit_status() == 78
    assert toy.text().count("there is no filter 'colour'") == 1
    assert "Traceback" not in toy.text()
    assert "WARNING" not in toy.text()


def test_unknown_option_is_logged(toy: ToyDaemon) -> None:
    toy.begin(default="exekutor = eventlet", greting="hello")

    unknown = [
        f"{toy.conf}: unknown option '{name}' in section [{section}]"
        for section, name in (("DEFAULT", "exekutor"), ("toy", "greting"))
    ]
    eventually(lambda: all(line in toy.text() for line in unknown), f"{unknown}")
    assert "'executor'" not in toy.text()
