# SPDX-License-Identifier: Apache-2.0
"""gantt-nova-bridge as processes, with their Redis user."""

import contextlib
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.deploy.users.redis_users import NOVA_BRIDGE, SCHEDULER, STORE_USERS
from devstack.servers.redis import RedisServer
from scheduler_svc.nova.bridge import signals
from scheduler_svc.store.redis import RedisStore
from tests.support.clusters.waiting import wait_until
from tests.support.nova.nova_databases import NovaClock, NovaDeployment, row_name
from tests.support.stride import in_turn

SECONDS = 120
NAMESPACES = ("compute_node", "nova_bridge", "aggregate", signals.NAMESPACE)
# The services' clock stands still: they may be silent for long.
OPTIONS = """
[rpc]
partition = p1
[store]
url = {store}
[nova]
api_database = {api}
bridge_interval = 60
bridge_lease = 2
service_down_time = 2000000000
"""


@pytest.fixture
def server(make_redis: Any) -> RedisServer:
    server: RedisServer = make_redis(users=STORE_USERS)
    return server


@pytest.fixture
def nova(tmp_path: Path) -> NovaDeployment:
    deployment = NovaDeployment(tmp_path, NovaClock())
    deployment.add_cell("cell1").add_compute("h1")
    deployment.map_hosts("cell1", "h1")
    return deployment


@pytest.fixture
def command(server: RedisServer, nova: NovaDeployment, tmp_path: Path) -> list[str]:
    conf = tmp_path / "gantt.conf"
    conf.write_text(OPTIONS.format(store=server.url(NOVA_BRIDGE.name), api=nova.api_url), encoding="utf-8")
    return [sys.executable, "-W", "ignore", "-m", "scheduler_svc.cmd.nova_bridge", "--config-file", str(conf)]


@pytest.fixture
def store(server: RedisServer) -> Iterator[RedisStore]:
    with contextlib.closing(RedisStore(server.url(SCHEDULER.name), "p1", namespaces=NAMESPACES)) as store:
        store.check_identity()
        yield store


@contextlib.contextmanager
def started(command: list[str]) -> Iterator["subprocess.Popen[str]"]:
    """Start a bridge, which does not outlive the test."""
    with subprocess.Popen(command, text=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(SECONDS)
            finally:
                process.kill()


def is_disabled(store: RedisStore) -> bool | None:
    documents = {name: document for name, _, document in store.list_state("compute_node")[0]}
    return documents[row_name("h1")]["disabled"] if documents else None


def test_a_change_is_read_at_once_when_it_is_requested(
    command: list[str], nova: NovaDeployment, store: RedisStore
) -> None:
    with started(command):
        wait_until(lambda: is_disabled(store) is False, "the first reading")
        nova.cells["cell1"].change_service("h1", disabled=True)
        nova.add_aggregate("rack", "h1", availability_zone="z1")
        signals.request_reading(store)  # the next reading is due in a minute
        wait_until(lambda: is_disabled(store) is True, "the reading of the change")
        wait_until(lambda: len(store.list_state("aggregate")[0]) == 1, "the reading of the aggregate")


@pytest.mark.parametrize("end", in_turn([signal.SIGKILL, signal.SIGTERM]))
def test_a_waiting_bridge_takes_over(
    command: list[str], nova: NovaDeployment, store: RedisStore, end: signal.Signals
) -> None:
    with started(command) as first:
        wait_until(lambda: is_disabled(store) is False, "the first reading")
        with started(command):
            nova.cells["cell1"].change_service("h1", disabled=True)
            first.send_signal(end)
            wait_until(lambda: is_disabled(store) is True, "the reading of the change")


def test_a_store_that_starts_late_is_awaited(command: list[str], server: RedisServer, store: RedisStore) -> None:
    server.stop()
    with started(command):
        server.start()
        wait_until(lambda: is_disabled(store) is False, "the first reading")


def test_without_an_api_database_the_bridge_does_not_start(command: list[str], tmp_path: Path) -> None:
    conf = tmp_path / "gantt.conf"
    lines = [line for line in conf.read_text().splitlines() if not line.startswith("api_database")]
    conf.write_text("\n".join(lines), encoding="utf-8")
    run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert run.returncode == 78
    assert "gantt-nova-bridge: " in run.stderr and "[nova] api_database is not set" in run.stderr
