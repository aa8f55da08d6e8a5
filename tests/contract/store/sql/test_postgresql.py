# SPDX-License-Identifier: Apache-2.0
"""PostgreSQL that hangs, and connections that it ends."""

import os
import signal
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from rpcapi import errors
from scheduler_svc.store.sql import postgresql, timeouts
from tests.support.private_servers.postgresql import PostgresqlServer
from tests.support.store.databases import engine, sql_partition


def test_hanging_worker_loses_its_lock(postgresql_server: PostgresqlServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgresql, "IDLE_SECONDS", 0.3)
    partition = sql_partition(postgresql_server.url())
    partition.add_host("h1")
    hung = postgresql.Postgresql(make_url(postgresql_server.url()), "everysec")
    with hung.engine.connect() as connection:
        hung.lock(connection, partition.store.partition)
        assert partition.prepare("c1", "h1").host == "h1"
        with pytest.raises(DBAPIError, match="idle"):
            connection.execute(text("SELECT 1"))
    hung.close()
    partition.store.close()


def test_hanging_server_is_unavailable(monkeypatch: pytest.MonkeyPatch, run_folder: Path) -> None:
    monkeypatch.setattr(timeouts, "SILENCE_SECONDS", 0.5)
    server = PostgresqlServer(run_folder)
    server.start()
    partition = sql_partition(server.url())
    position = partition.store.snapshot().position
    partition.store.follow(position, 1)
    sessions = [server.pid, *server.sessions()]
    try:
        for session in sessions:
            os.kill(session, signal.SIGSTOP)
        for verb in (partition.store.snapshot, lambda: partition.store.heartbeat("m1", "gantt-conductor")):
            with pytest.raises(errors.StoreUnavailable):
                verb()
    finally:
        for session in sessions:
            os.kill(session, signal.SIGCONT)
        partition.store.close()
        server.kill()


def test_follower_reconnects_after_terminated_connections(postgresql_server: PostgresqlServer) -> None:
    partition = sql_partition(postgresql_server.url())
    position = partition.store.snapshot().position
    # Given pooled connections that the server has terminated, which the pool does not know yet
    ended = text("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = :ours")
    with engine(postgresql_server.url()).connect() as connection:
        assert connection.scalar(ended, {"ours": "gantt-scheduler"})
    assert partition.store.follow(position, 1) == []
    partition.add_host("h1")
    assert partition.store.follow(position, 1)
    partition.store.close()
