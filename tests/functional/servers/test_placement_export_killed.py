# SPDX-License-Identifier: Apache-2.0
"""An export that is killed in the middle of its transaction leaves the database of Placement as it was."""

import contextlib
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, select
from sqlalchemy.engine import Engine, make_url
from sqlalchemy.pool import NullPool

from scheduler_svc.cmd.placement_import import main as run
from scheduler_svc.databases import DRIVERS
from scheduler_svc.placement.migration import placement_tables as tables
from tests.support.clusters import truth
from tests.support.placement.placement_database import PlacementFile, small_cloud
from tests.support.stride import in_turn

SECONDS = 300
PAUSE = 0.3  # within 0.1 s MariaDB repeats what it showed before
# How many transactions have written something and wait for a row that another one has locked.
BLOCKED = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
    "AND backend_xid IS NOT NULL AND wait_event_type = 'Lock'",
    "mariadb": "SELECT count(*) FROM information_schema.INNODB_TRX AS t JOIN information_schema.PROCESSLIST AS p "
    "ON p.ID = t.trx_mysql_thread_id "
    "WHERE p.DB = DATABASE() AND t.trx_state = 'LOCK WAIT' AND t.trx_rows_modified > 0",
}


@pytest.fixture(params=in_turn(["postgresql", "mariadb"]))
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def target(request: pytest.FixtureRequest, backend: str) -> Iterator[Engine]:
    """A new, empty database with Placement's tables."""
    url, name = make_url(request.getfixturevalue(f"{backend}_server").url()), f"placement_{uuid.uuid4().hex[:8]}"
    url = url.set(drivername=DRIVERS[url.get_backend_name()])
    server = create_engine(url, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}{' CHARACTER SET utf8mb4' if backend == 'mariadb' else ''}")
    engine = create_engine(url.set(database=name), poolclass=NullPool)
    tables.METADATA.create_all(engine)
    yield engine
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name}")


@pytest.fixture
def source(tmp_path: Path) -> PlacementFile:
    return small_cloud(tmp_path)


@pytest.fixture
def gantt_conf(tmp_path: Path) -> str:
    path = tmp_path / "gantt.conf"
    path.write_text(f"[rpc]\npartition = p1\n[store]\nurl = sqlite:///{tmp_path / 'gantt.sqlite'}\n", encoding="utf-8")
    return str(path)


def rows(engine: Engine) -> dict[str, list[Any]]:
    """Return all rows of all tables."""
    with engine.connect() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(select(table)))) for table in tables.METADATA.sorted_tables
        }


def test_killed_export_leaves_the_database_as_it_was(
    backend: str, target: Engine, source: PlacementFile, gantt_conf: str
) -> None:
    url, gantt = target.url.render_as_string(hide_password=False), ("--config-file", gantt_conf)
    # Given a database that has what gantt had, and a gantt that has other providers and consumers since
    assert run([source.url, *gantt]) == 0
    assert run([url, "--export", *gantt]) == 0
    before = rows(target)
    source.provider("host-2", inventories={"VCPU": {"total": 4}}, traits=("CUSTOM_NEW",))
    source.allocate("vm-2", {"host-2": {"VCPU": 1}})
    assert run([source.url, *gantt]) == 0
    # When an export is killed that has written providers, and waits for an allocation that another client locks
    with contextlib.ExitStack() as stack:
        lock = stack.enter_context(target.connect())
        assert lock.execute(select(tables.ALLOCATIONS).with_for_update()).all()
        command = [sys.executable, "-W", "ignore", "-m", "scheduler_svc.cmd.placement_import", url, "--export", *gantt]
        export = stack.enter_context(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        stack.callback(export.kill)
        observer = stack.enter_context(target.connect())
        observer = observer.execution_options(isolation_level="AUTOCOMMIT")

        def is_blocked() -> bool:
            time.sleep(PAUSE)
            return bool(observer.exec_driver_sql(BLOCKED[backend]).scalar()) or export.poll() is not None

        truth.until("the export in the middle of its transaction", is_blocked, SECONDS)
        assert export.poll() is None
        export.kill()
        export.wait(SECONDS)
        lock.rollback()
    # Then the database is as it was, and the next export makes both equal
    assert rows(target) == before
    assert run([url, "--verify", *gantt]) == 1
    assert run([url, "--export", *gantt]) == 0
    assert run([url, "--verify", *gantt]) == 0
    assert rows(target) != before
