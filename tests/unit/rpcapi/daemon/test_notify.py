# SPDX-License-Identifier: Apache-2.0
"""Datagrams in the protocol of sd_notify(3)."""

import os
import socket
from pathlib import Path

import pytest

from rpcapi.daemon.notify import Notifier


@pytest.fixture
def manager(tmp_path: Path) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    sock.bind(str(tmp_path / "notify"))
    sock.setblocking(False)
    return sock


def test_notification_variables_are_removed_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, manager: socket.socket
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", manager.getsockname())
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    monkeypatch.setenv("WATCHDOG_PID", str(os.getpid()))

    notifier = Notifier.from_environment()

    assert not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"} & set(os.environ)
    notifier.ready("all serve")
    assert manager.recv(100) == b"READY=1\nSTATUS=all serve"


def test_watchdog_of_another_process_is_ignored(monkeypatch: pytest.MonkeyPatch, manager: socket.socket) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", manager.getsockname())
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    monkeypatch.setenv("WATCHDOG_PID", "1")

    Notifier.from_environment().alive(100.0)

    with pytest.raises(BlockingIOError):
        manager.recv(100)


def test_watchdog_is_pinged_three_times_per_interval(manager: socket.socket) -> None:
    notifier = Notifier(manager.getsockname(), watchdog=3.0)

    for tenth in range(1000, 1060):
        notifier.alive(tenth / 10)

    pings = 0
    with pytest.raises(BlockingIOError):
        while manager.recv(100) == b"WATCHDOG=1":
            pings += 1
    assert pings == 6


def test_abstract_socket_is_supported() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0gantt-test-{os.getpid()}")
        Notifier(f"@gantt-test-{os.getpid()}").stopping()
        assert manager.recv(100).startswith(b"STOPPING=1\n")


def test_missing_manager_is_no_error(tmp_path: Path) -> None:
    Notifier(str(tmp_path / "nobody")).ready("all serve")
    Notifier().ready("all serve")
