# SPDX-License-Identifier: Apache-2.0
"""gantt-placement-import as a process, with the Redis user of gantt-placement."""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from devstack.deploy.users.redis_users import PLACEMENT, SCHEDULER, STORE_USERS
from devstack.servers.redis import RedisServer
from scheduler_svc.placement.migration.store_reader import StoreReader
from scheduler_svc.store.providers.changes import VOCABULARIES
from scheduler_svc.store.redis import RedisStore
from tests.support.placement.placement_database import PlacementFile, small_cloud
from tests.support.stride import in_turn

SECONDS = 300
PROVIDERS, CONSUMERS = 600, 1500


@pytest.fixture
def server(make_redis: Any) -> RedisServer:
    server: RedisServer = make_redis(users=STORE_USERS)
    return server


@pytest.fixture
def database(tmp_path: Path) -> PlacementFile:
    return small_cloud(tmp_path)


@pytest.fixture
def command(server: RedisServer, database: PlacementFile, tmp_path: Path) -> list[str]:
    conf = tmp_path / "gantt.conf"
    conf.write_text(f"[rpc]\npartition = p1\n[store]\nurl = {server.url(PLACEMENT.name)}\n", encoding="utf-8")
    module = "scheduler_svc.cmd.placement_import"
    return [sys.executable, "-W", "ignore", "-m", module, database.url, "--config-file", str(conf)]


@pytest.fixture
def store(server: RedisServer) -> Any:
    with contextlib.closing(RedisStore(server.url(SCHEDULER.name), "p1", namespaces=VOCABULARIES)) as store:
        yield store


def run(command: list[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*command, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False, stdin=subprocess.DEVNULL
    )


@contextlib.contextmanager
def started(command: list[str], stdout: int = subprocess.DEVNULL, stderr: int | None = None) -> Iterator[Any]:
    """Start the command, which does not outlive the test."""
    with subprocess.Popen(command, stdout=stdout, stderr=stderr, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def fill(database: PlacementFile) -> None:
    """Add providers and consumers, in three statements."""
    database.execute(
        "INSERT INTO resource_providers (id, uuid, name, generation, root_provider_id) "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "SELECT 1000 + i, 'p' || i, 'node ' || i, i, 1000 + i FROM n",
        PROVIDERS,
    )
    database.execute(
        "INSERT INTO consumers (uuid, project_id, user_id, generation) "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "SELECT 'c' || i, 1, 1, 1 FROM n",
        CONSUMERS,
    )
    database.execute(
        "INSERT INTO allocations (resource_provider_id, consumer_id, resource_class_id, used) "
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
        "SELECT 1001 + i % ?, 'c' || i, 1, 1 FROM n",
        CONSUMERS,
        PROVIDERS,
    )


@pytest.mark.parametrize("at_least", in_turn([1, PROVIDERS // 2]))
def test_an_import_that_was_killed_is_continued(
    command: list[str], database: PlacementFile, store: RedisStore, at_least: int
) -> None:
    fill(database)
    with started(command, stderr=subprocess.PIPE) as process:
        deadline = time.monotonic() + SECONDS
        while process.poll() is None and len(StoreReader(store).read().providers) < at_least:
            assert time.monotonic() < deadline
        process.kill()
        assert process.communicate(timeout=SECONDS)[1] == ""
    assert run(command).returncode == 0
    assert run(command, "--verify").returncode == 0
    contents = StoreReader(store).read()
    assert (len(contents.providers), len(contents.consumers)) == (PROVIDERS + 3, CONSUMERS + 2)
    assert store.verify().problems == []


def test_follow_ends_with_a_last_pass_after_sigint(command: list[str], database: PlacementFile) -> None:
    with started([*command, "--follow", "--interval", "600"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Pass 1: wrote 2 names, 3 providers, 2 consumers")
        database.allocate("vm-2", {"pool": {"DISK_GB": 1}})
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=SECONDS)[0]
    assert process.returncode == 0
    assert output.startswith("Pass 2: wrote 1 providers, 1 consumers")
    assert run(command, "--verify").returncode == 0


def test_an_unreachable_store_is_named(command: list[str], server: RedisServer) -> None:
    server.stop()
    result = run(command)
    assert result.returncode == 69
    assert "The store cannot be reached" in result.stderr
    assert "Traceback" not in result.stderr
