# SPDX-License-Identifier: Apache-2.0
"""A worker process: its start, reload and drain."""

import os
import signal
import socket
from unittest import mock

import pytest
from oslo_config import cfg

from rpcapi.daemon import process, worker
from tests.unit.rpcapi.daemon.conftest import ToyDaemon, eventually


def has_exited(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_configuration_error_of_the_service_is_logged_by_one_worker(toy: ToyDaemon, executor: str) -> None:
    toy.configure(f"executor = {executor}", start="refuse", workers=3)
    toy.start()

    assert toy.exit_status() == 78
    assert toy.text().count("there is no filter 'colour'") == 1
    assert "Traceback" not in toy.text()
    assert "WARNING" not in toy.text()


def test_drain_is_killed_at_its_timeout(toy: ToyDaemon, executor: str) -> None:
    toy.begin(executor=executor, drain="stuck", default="graceful_shutdown_timeout = 1")

    toy.signal(signal.SIGTERM)

    assert toy.exit_status() == 70
    assert "did not drain within 1 s" in toy.text()


def test_workers_drain_when_their_master_is_killed(toy: ToyDaemon, executor: str) -> None:
    toy.begin(workers=2, executor=executor)

    toy.signal(signal.SIGKILL)

    toy.await_events("drained", 2)
    eventually(lambda: toy.text().count("exits with status 0") == 2, "the end of both workers")


@pytest.mark.parametrize("unread", [b"", worker.HEARTBEAT], ids=["all read", "unread heartbeat"])
def test_worker_notices_its_masters_death_whatever_the_master_had_read(
    unread: bytes, conf: cfg.ConfigOpts, monkeypatch: pytest.MonkeyPatch
) -> None:
    inbox = mock.Mock()
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(process, "SignalSocket", lambda _: inbox)
    master_end, worker_end = socket.socketpair()
    with worker_end:
        role = worker.WorkerRole("worker 0", 0, prepare=mock.Mock(), make=mock.Mock())
        orphan = worker.Worker(conf, role, worker_end)
        worker_end.sendall(unread)
        master_end.close()

        orphan._watch_master()

    inbox.put.assert_called_once_with(signal.SIGTERM)


def test_start_aborted_without_a_stop_is_a_failure(toy: ToyDaemon) -> None:
    toy.configure(start="give_up")
    toy.start()

    assert toy.exit_status() == 70
    assert "startup aborted unexpectedly" in toy.text()


def test_sigterm_ends_a_waiting_start(toy: ToyDaemon, executor: str) -> None:
    toy.configure(f"executor = {executor}", start="wait", workers=2)
    toy.start()
    eventually(lambda: toy.text().count("the broker is unreachable") >= 2, "lines about the broker")

    toy.signal(signal.SIGTERM)

    assert toy.exit_status() == 0
    assert "Traceback" not in toy.text()
