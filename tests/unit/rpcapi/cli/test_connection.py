# SPDX-License-Identifier: Apache-2.0
"""The quick check that a broker is reachable."""

import socket
from types import SimpleNamespace

import pytest

from rpcapi import errors
from rpcapi.cli import connection


@pytest.fixture
def refused_port():
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


@pytest.mark.parametrize("url", ["gantt+redis://:secret@127.0.0.1:{port}/0", "rabbit://u:secret@127.0.0.1:{port}/"])
def test_refused_connection_fails_the_command_before_any_call(gantt, config_file, monkeypatch, refused_port, url):
    monkeypatch.setattr("rpcapi.cli.session.Session.call", lambda *_args, **_values: pytest.fail("called"))
    config_file.write_text(f"[DEFAULT]\ntransport_url = {url.format(port=refused_port)}\n")
    result = gantt("server", "list")
    message = f"The message bus cannot be reached: 127.0.0.1:{refused_port}: Connection refused\n"
    assert (result.code, result.err) == (1, message)


def test_missing_socket_file_is_reported_with_its_path(gantt, config_file, tmp_path):
    config_file.write_text(f"[DEFAULT]\ntransport_url = gantt+redis:///0?socket={tmp_path}/bus.sock\n")
    result = gantt("server", "list")
    message = f"The message bus cannot be reached: {tmp_path}/bus.sock: No such file or directory\n"
    assert (result.code, result.err) == (1, message)


class Url:
    """A parsed transport URL of the embedded bus."""

    transport = "gantt+redis"

    def __init__(self, path):
        self._path = path

    def __str__(self):
        return f"gantt+redis:///0?socket={self._path}"


def replace_clock(monkeypatch, now, sleep):
    """Replace the clock of the check only: threads of other tests may sleep meanwhile."""
    monkeypatch.setattr(connection, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=sleep))


def test_broker_that_returns_within_the_grace_period_is_accepted(tmp_path, monkeypatch):
    path = tmp_path / "bus.sock"
    pauses = []
    with socket.socket(socket.AF_UNIX) as server:

        def start_broker(seconds):
            pauses.append(seconds)
            server.bind(str(path))
            server.listen()

        replace_clock(monkeypatch, [0.0], start_broker)
        connection.check_broker(Url(path))
    assert pauses == [connection.PAUSE]


def test_check_ends_after_the_grace_period(tmp_path, monkeypatch):
    now = [0.0]
    replace_clock(monkeypatch, now, lambda seconds: now.__setitem__(0, now[0] + seconds))
    with pytest.raises(errors.Unavailable, match="No such file"):
        connection.check_broker(Url(tmp_path / "bus.sock"))
    assert 0 < now[0] <= connection.GRACE
