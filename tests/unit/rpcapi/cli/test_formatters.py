# SPDX-License-Identifier: Apache-2.0
"""Output formats of the commands."""

import os
import pty
import struct
import sys
from fcntl import ioctl
from termios import TIOCSWINSZ

import pytest

from tests.unit.rpcapi.cli import fakes


@pytest.fixture
def server_without_host(cluster):
    cluster.conductor.instances["a"] = fakes.instance("a", status="ERROR", host=None, reason=None)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("list", "-f", "value", "-c", "host"), "\n"),
        (("list", "-f", "value", "-c", "uuid", "-c", "host", "-c", "status"), "a ERROR \n"),
        (("list", "-f", "csv", "-c", "host"), '"host"\n""\n'),
        (("show", "a", "-f", "value", "-c", "host"), "\n"),
        (("show", "a", "-f", "shell", "-c", "host"), 'host=""\n'),
        (("show", "a", "-f", "json", "-c", "host"), '{\n  "host": null\n}\n'),
        (("show", "a", "-f", "yaml", "-c", "host"), "host: null\n"),
    ],
)
def test_missing_value_is_empty_or_null(server_without_host, gantt, options, text):
    assert gantt("server", *options).out == text


def test_missing_value_is_a_dash_in_a_table(server_without_host, gantt):
    assert "| host           | -" in gantt("server", "show", "a").out


@pytest.fixture
def narrow_terminal(gantt, monkeypatch):
    """Standard output is a terminal of 60 columns."""
    master, terminal = pty.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    monkeypatch.setattr(type(sys.stdout), "fileno", lambda _stdout: terminal)
    yield
    os.close(master)
    os.close(terminal)


def test_table_fits_the_terminal_by_default(cluster, gantt, narrow_terminal):
    cluster.scheduler.node("host1/node1")
    cluster.scheduler.service("host1")
    *table, note = gantt("host", "list").out.splitlines()
    assert max(len(line) for line in table) <= 60
    assert note.startswith("Columns omitted to fit the terminal: vcpu_used, memory_mb_free, memory_mb_used")
    assert max(len(line) for line in gantt("host", "show", "host1").out.splitlines()) <= 60


def test_chosen_columns_are_never_omitted(cluster, gantt, narrow_terminal):
    cluster.scheduler.node("host1/node1")
    columns = ("name", "state", "enabled", "zone", "vcpu_free", "vcpu_used", "last_report", "partition")
    out = gantt("host", "list", *(f"-c{name}" for name in columns)).out
    assert "partition" in out and "Omitted" not in out


def test_table_outside_a_terminal_is_unlimited_unless_limited(cluster, gantt):
    cluster.conductor.instances["a"] = fakes.instance("a", reason="why " * 60)
    assert max(len(line) for line in gantt("server", "list").out.splitlines()) > 240
    assert max(len(line) for line in gantt("server", "list", "--max-width", "70").out.splitlines()) <= 70


def test_empty_table_is_printed_on_request(cluster, gantt):
    assert gantt("server", "list").out == "\n"
    assert "| uuid | name |" in gantt("server", "list", "--print-empty").out
