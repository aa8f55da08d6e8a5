# SPDX-License-Identifier: Apache-2.0
"""The base classes of the commands: errors, messages and missing values."""

import socket

import pytest

from rpcapi.admin.session import Session
from tests.unit.rpcapi.cli import fakes


def test_remote_error_has_a_traceback_only_with_debug(cluster, gantt):
    cluster.claims.claims["a"] = None  # causes a TypeError in the fake
    result = gantt("claim", "list")
    assert result.code == 1
    assert "Traceback" not in result.err
    assert "TypeError" in result.err
    assert "Traceback" in gantt("--debug", "claim", "list").err


def test_unanswered_call_is_one_line(cluster, gantt, config_file):
    cluster.scheduler.partitions = ["nobody"]
    config_file.write_text(
        "[DEFAULT]\ntransport_url = fake://\ncontrol_exchange = shell\n[rpc]\npartition = nobody\ncall_timeout = 0.1\n"
    )
    result = gantt("claim", "verify")
    assert result.code == 1
    assert result.err.splitlines()[-1].startswith("No reply in time: is the cluster up")
    assert "Traceback" not in result.err


@pytest.mark.parametrize("url", ["gantt+redis://:secret@127.0.0.1:{port}/0", "rabbit://u:secret@127.0.0.1:{port}/"])
def test_refused_connection_fails_the_command_before_any_call(gantt, config_file, monkeypatch, url):
    monkeypatch.setattr(Session, "call", lambda *_args, **_values: pytest.fail("called"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    config_file.write_text(f"[DEFAULT]\ntransport_url = {url.format(port=port)}\n")
    result = gantt("server", "list")
    assert result.code == 1
    assert result.err.startswith("The message bus cannot be reached: ")
    assert f"127.0.0.1:{port}" in result.err
    assert "Connection refused" in result.err
    assert "secret" not in result.err


def test_missing_socket_file_is_reported_with_its_path(gantt, config_file, tmp_path):
    config_file.write_text(f"[DEFAULT]\ntransport_url = gantt+redis:///0?socket={tmp_path}/bus.sock\n")
    result = gantt("server", "list")
    assert result.code == 1
    assert f"{tmp_path}/bus.sock. No such file or directory" in result.err


def test_quiet_suppresses_messages(cluster, gantt):
    assert gantt("-q", "boot", "--flavor", "m1.tiny", "-f", "value", "-c", "status").err == ""


def test_exit_code_of_a_command_is_that_of_its_verdict(cluster, gantt):
    cluster.claims.problems = ["used of host1 is 3, its claims sum to 2"]
    assert gantt("claim", "verify").code != 0


@pytest.mark.parametrize(("formatter", "text"), [("csv", '"name"\n""\n'), ("value", "\n")])
def test_missing_value_is_empty_where_the_format_has_no_null(cluster, gantt, formatter, text):
    cluster.conductor.instances["a"] = fakes.instance("a", name=None)
    assert gantt("server", "list", "-f", formatter, "-c", "name").out == text
    assert gantt("server", "list", "-f", "json", "-c", "name").json == [{"name": None}]


def test_missing_field_of_one_object_is_empty_where_the_format_has_no_null(cluster, gantt):
    cluster.conductor.instances["a"] = fakes.instance("a", name=None)
    assert gantt("server", "show", "a", "-f", "value", "-c", "name").out == "\n"
    assert gantt("server", "show", "a", "-f", "json", "-c", "name").json == {"name": None}
