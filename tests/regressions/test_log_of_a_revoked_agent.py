# SPDX-License-Identifier: Apache-2.0
"""A daemon whose user the broker refuses says so from time to time, and waits between its tries.

The reader of its answers tried again at once and logged a traceback each time: 16,000 lines a second, of one host.
"""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import oslo_messaging
import pytest

from devstack.deploy.users.rabbitmq_users import ADMIN
from devstack.servers.ports import LOOPBACK
from devstack.servers.rabbitmq import RabbitNode
from rpcapi.access.broker_users import VHOST, agent
from rpcapi.access.rabbit_management import BrokerAdministration
from rpcapi.messaging.drivers.rabbit_listening import RabbitReplyWaiter

FAILURES = 20
# Lines about one failure that goes on.
MAX_LINES = 3
WATCHED_SECONDS = 10
# Lines of a daemon in WATCHED_SECONDS.
MAX_DAEMON_LINES = 500
START_SECONDS = 60


class RefusedConnection:
    """A connection that fails to read, again and again, and blocks after FAILURES times."""

    def __init__(self) -> None:
        self.tries = 0
        self.has_failed = threading.Event()
        self._stopped = threading.Event()

    def declare_direct_consumer(self, topic: str, callback: object) -> None:
        """Accept."""

    def stop_consuming(self) -> None:
        self._stopped.set()

    def consume(self, timeout: float) -> None:
        self.tries += 1
        if self.tries > FAILURES:
            self.has_failed.set()
            self._stopped.wait()
        raise oslo_messaging.MessageDeliveryFailure("ACCESS_REFUSED")


@pytest.mark.xfail(strict=True, raises=AssertionError, reason="The reader of answers logs each failure to connect.")
def test_reader_logs_a_failure_that_goes_on_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    connection = RefusedConnection()
    with caplog.at_level(logging.WARNING):
        waiter = RabbitReplyWaiter("replies", connection, [])
        connection.has_failed.wait(1)  # no longer: a reader that pauses has not failed as often
        waiter.stop()
    assert len(caplog.records) <= MAX_LINES


@pytest.mark.long
@pytest.mark.xfail(strict=True, raises=AssertionError, reason="A daemon that may not log in tries without a pause.")
def test_daemon_of_a_revoked_user_logs_little(managed_rabbit: tuple[RabbitNode, str], tmp_path: Path) -> None:
    node, address = managed_rabbit
    administration = BrokerAdministration(f"http://{ADMIN}:{node.passwords.of(ADMIN)}@{address}")
    host, password = f"h-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    user = agent(host)
    administration.enroll(user, password)
    conf, log = tmp_path / "compute.conf", tmp_path / "log"
    conf.write_text(
        f"[DEFAULT]\ntransport_url = gantt-rabbit://{user.name}:{password}@{LOOPBACK}:{node.ports.amqp}/{VHOST}\n"
        f"[compute]\nhosts = {host}\nnodes_per_host = 1\nstate_path = {tmp_path / 'state'}\n"
    )
    # Nobody serves the scheduler's topic: the agent waits for the answer to its registration.
    command = [sys.executable, "-W", "ignore", "-m", "compute_agent.cmd.compute", "--config-file", str(conf)]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=file, start_new_session=True)
    try:
        deadline = time.monotonic() + START_SECONDS
        while not has_logged_in(node, user.name):
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        administration.revoke(user.name)
        time.sleep(1)
        before = lines(log)
        time.sleep(WATCHED_SECONDS)
        assert lines(log) - before <= MAX_DAEMON_LINES
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def has_logged_in(node: RabbitNode, user: str) -> bool:
    """Return whether the user has authenticated, by the broker's log."""
    return any(f"user '{user}' authenticated" in path.read_text() for path in (node.folder / "log").glob("*.log"))


def lines(log: Path) -> int:
    with log.open("rb") as file:
        return sum(1 for _ in file)
